//! What the router reads of a packet.

use std::net::Ipv4Addr;

/// The length of an IPv4 header without options, and where in a TCP header is what is read of it.
const IP_HEADER: usize = 20;
const TCP_LENGTH: usize = 12;
const TCP_FLAGS: usize = 13;

const TCP: u8 = 6;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// A packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) from: Ipv4Addr,
    pub(super) to: Ipv4Addr,
    /// None: it is not of TCP.
    pub(super) segment: Option<Segment>,
}

/// What is read of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) from_port: u16,
    pub(super) to_port: u16,
    /// The number of its first byte, or of its SYN.
    pub(super) sequence: u32,
    /// It asks for a connection.
    pub(super) opens: bool,
}

/// What a TCP segment carries, of a packet that [`Packet::parse`] reads; nothing where it is none.
pub(super) fn payload(packet: &[u8]) -> &[u8] {
    let read = || {
        let [first, _, length_0, length_1, ..] = *packet.first_chunk::<IP_HEADER>()?;
        let segment =
            packet.get(usize::from(first & 0xf) * 4..usize::from(u16::from_be_bytes([length_0, length_1])))?;
        segment.get(usize::from(segment.get(TCP_LENGTH)? >> 4) * 4..)
    };
    read().unwrap_or_default()
}

impl Packet {
    /// Reads a packet. None: it is no whole IPv4 packet, or a later fragment, which does not tell its ports.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; IP_HEADER] = bytes.first_chunk()?;
        let [version_and_length, _, length_0, length_1, _, _, fragment_0, fragment_1, _, protocol, ..] = *header;
        let offset = u16::from_be_bytes([fragment_0, fragment_1]) & 0x1fff;
        let length = usize::from(u16::from_be_bytes([length_0, length_1]));
        let header_length = usize::from(version_and_length & 0xf) * 4;
        if version_and_length >> 4 != 4 || header_length < IP_HEADER || length > bytes.len() || offset != 0 {
            return None;
        }
        let address = |at: usize| Some(Ipv4Addr::from(*header.get(at..)?.first_chunk::<4>()?));
        let segment = match protocol {
            TCP => Some(Segment::parse(bytes.get(header_length..length)?)?),
            _ => None,
        };
        Some(Self { from: address(12)?, to: address(16)?, segment })
    }
}

impl Segment {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let [from_0, from_1, to_0, to_1, sequence @ ..] = *bytes.first_chunk::<8>()?;
        let flags = *bytes.get(TCP_FLAGS)?;
        Some(Self {
            from_port: u16::from_be_bytes([from_0, from_1]),
            to_port: u16::from_be_bytes([to_0, to_1]),
            sequence: u32::from_be_bytes(sequence),
            opens: flags & (SYN | ACK) == SYN,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mk_packet(protocol: u8, flags: u8, fragment: u16) -> Vec<u8> {
        let [fragment_0, fragment_1] = fragment.to_be_bytes();
        let mut packet = vec![0x45, 0, 0, 40, 0, 0, fragment_0, fragment_1, 64, protocol, 0, 0];
        packet.extend([10, 99, 2, 10, 10, 99, 1, 11]);
        packet.extend([0xc0, 0x01, 0x79, 0x87, 1, 2, 3, 4, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        packet
    }

    #[test]
    fn ports_are_those_of_tcp() {
        let packet = Packet::parse(&mk_packet(TCP, SYN, 0x4000)).unwrap();
        let segment = Segment { from_port: 49153, to_port: 31111, sequence: 0x0102_0304, opens: true };
        let (from, to) = (Ipv4Addr::new(10, 99, 2, 10), Ipv4Addr::new(10, 99, 1, 11));
        assert_eq!(packet, Packet { from, to, segment: Some(segment) });
        assert!(!Packet::parse(&mk_packet(TCP, SYN | ACK, 0)).unwrap().segment.unwrap().opens, "an answer");
        assert_eq!(Packet::parse(&mk_packet(17, 0, 0)).unwrap().segment, None, "another protocol");
    }

    #[test]
    fn what_does_not_tell_its_ports_is_refused() {
        let whole = mk_packet(TCP, 0, 0);
        assert_eq!(Packet::parse(&mk_packet(TCP, 0, 3)), None, "a later fragment");
        assert_eq!(Packet::parse(&[&[0x65], &whole[1..]].concat()), None, "IPv6");
        assert_eq!(Packet::parse(&[&[0x44], &whole[1..]].concat()), None, "a header that is too short");
        for length in 0..whole.len() {
            assert_eq!(Packet::parse(&whole[..length]), None, "the first {length} bytes");
        }
    }

    #[test]
    fn a_payload_is_what_follows_the_headers() {
        let mut packet = mk_packet(TCP, ACK, 0);
        assert_eq!(payload(&packet), b"", "an acknowledgement");
        packet.extend(b"GET /");
        packet[3] += 4;
        assert_eq!(payload(&packet), b"GET ", "what the length says");
        packet[32] = 0xf0;
        assert_eq!(payload(&packet), b"", "a header that is longer than the packet");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (Packet::parse(&bytes), payload(&bytes));
        }

        #[test]
        fn so_is_whatever_looks_like_a_packet(mut bytes in proptest::collection::vec(any::<u8>(), 20..80)) {
            bytes[0] = 0x40 | bytes[0] & 0xf;
            bytes[9] = TCP;
            let _ = (Packet::parse(&bytes), payload(&bytes));
        }
    }
}
