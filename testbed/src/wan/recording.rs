//! What clients say on the WAN, word by word.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::packet::Packet;
use crate::cluster;
use crate::echo::Seen;
use crate::latin1;
use crate::namespace::FIRST_EPHEMERAL_PORT;
use crate::network::Network;

/// How many bytes are kept, and of how many connections.
const MAX_BYTES: usize = 1 << 28;
const MAX_CONNECTIONS: usize = 4_096;

/// Of two sequence numbers that are less than this apart, it is known which is first.
const HALF: u32 = 1 << 31;

const END_OF_LINE: &[u8] = b"\r\n";
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// What was said to the ports that are listened on, from when it began. Answers are not in it, nor is what API servers
/// are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    connections: BTreeMap<Connection, Stream>,
    kept: usize,
    is_cut: bool,
}

/// One connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Connection {
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
}

/// What is said on a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stream {
    bytes: Vec<u8>,
    /// The sequence number of the byte after them.
    next: u32,
}

/// What one connection between two clusters carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speech<'r> {
    /// The port that is listened on.
    pub port: u16,
    bytes: &'r [u8],
}

impl Recording {
    /// What clients in one cluster said to another, by connections that carried anything at all.
    pub fn speeches(&self, from: u8, to: u8) -> Vec<Speech<'_>> {
        let is_of = |address, number| Network::of_address(address) == Some(Network::of_cluster(number));
        let spoken = self
            .connections
            .iter()
            .filter(|(Connection { from: client, to: server }, _)| is_of(client.0, from) && is_of(server.0, to));
        spoken.map(|(connection, stream)| Speech { port: connection.to.1, bytes: &stream.bytes }).collect()
    }

    /// Whether there was room for everything; else its end is missing.
    pub fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Takes note of what a packet carries; of a retransmission, of what is new in it.
    pub(super) fn add(&mut self, packet: Packet, payload: &[u8]) {
        let Some(segment) = packet.segment else { return };
        if segment.to_port >= FIRST_EPHEMERAL_PORT || segment.to_port == cluster::PORT {
            return;
        }
        let connection = Connection { from: (packet.from, segment.from_port), to: (packet.to, segment.to_port) };
        // A SYN takes one number.
        let start = segment.sequence.wrapping_add(u32::from(segment.opens));
        let known = self.connections.get_mut(&connection);
        let is_known = known.is_some();
        let new = match known {
            None => payload,
            // The ports are used again, and the numbers begin anew.
            Some(stream) if segment.opens => {
                stream.next = start;
                payload
            }
            Some(stream) => unseen(payload, start, stream.next),
        };
        if new.is_empty() {
            return;
        }
        self.kept += new.len();
        self.is_cut |= self.kept > MAX_BYTES || !is_known && self.connections.len() >= MAX_CONNECTIONS;
        if !self.is_cut {
            let stream = self.connections.entry(connection).or_default();
            stream.bytes.extend(new);
            stream.next = start.wrapping_add(u32::try_from(payload.len()).unwrap_or(u32::MAX));
        }
    }
}

/// What of a payload that starts with one sequence number is new where the next is another. Which of them is first is
/// told as in RFC 9293, section 3.4.
fn unseen(payload: &[u8], start: u32, next: u32) -> &[u8] {
    let seen = next.wrapping_sub(start);
    if seen >= HALF {
        // It starts later.
        return payload;
    }
    usize::try_from(seen).ok().and_then(|seen| payload.get(seen..)).unwrap_or_default()
}

impl Speech<'_> {
    /// The requests of HTTP/1.1 without a body that it is made of. None: it is made of something else, or not whole.
    pub fn requests(&self) -> Option<Vec<Seen>> {
        let mut requests = Vec::new();
        let mut rest = self.bytes;
        while !rest.is_empty() {
            let end = rest.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD)?;
            requests.push(request(self.port, rest.get(..end)?)?);
            rest = rest.get(end + END_OF_HEAD.len()..)?;
        }
        Some(requests)
    }
}

/// Reads the head of a request, without the empty line at its end.
fn request(port: u16, head: &[u8]) -> Option<Seen> {
    let mut rest = Some(head);
    let mut lines = std::iter::from_fn(|| {
        let all = rest?;
        let end = all.windows(END_OF_LINE.len()).position(|window| window == END_OF_LINE);
        rest = end.and_then(|end| all.get(end + END_OF_LINE.len()..));
        all.get(..end.unwrap_or(all.len())).map(latin1::text)
    });
    let first = lines.next()?;
    let [method, path, "HTTP/1.1"] = *first.split(' ').collect::<Vec<_>>() else { return None };
    let line = |line: String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: Vec<_> = lines.map(line).collect::<Option<_>>()?;
    let authority = headers.iter().filter(|(name, _)| name == "host").map(|(_, value)| value.as_str()).collect();
    Some(Seen { port, authority, method: method.to_owned(), path: path.to_owned(), headers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wan::packet::Segment;

    const PORT: u16 = 31_111;

    fn mk_packet(from_port: u16, to_port: u16) -> Packet {
        mk_packet_of(Segment { from_port, to_port, sequence: 0, opens: false })
    }

    fn mk_packet_of(segment: Segment) -> Packet {
        let (from, to) = (Network::of_cluster(2).host(10), Network::of_cluster(1).host(11));
        Packet { from, to, segment: Some(segment) }
    }

    /// What is recorded of segments on one connection: the sequence number of each, whether it opens, and its payload.
    fn said(segments: &[(u32, bool, &str)]) -> String {
        let mut recording = Recording::default();
        for &(sequence, opens, payload) in segments {
            let segment = Segment { from_port: 50_000, to_port: PORT, sequence, opens };
            recording.add(mk_packet_of(segment), payload.as_bytes());
        }
        assert_eq!(recording.kept, recording.speeches(2, 1)[0].bytes.len());
        String::from_utf8(recording.speeches(2, 1)[0].bytes.to_vec()).unwrap()
    }

    #[test]
    fn requests_are_read_however_they_are_cut() {
        let mut recording = Recording::default();
        let mut sequence = 0;
        for piece in ["GET /a HTTP/1.1\r\nho", "st: b\r\nX-C:  d \r\n\r\nGET / HTTP/1.1\r\n", "host: b\r\n\r\n"] {
            let segment = Segment { from_port: 50_000, to_port: PORT, sequence, opens: false };
            recording.add(mk_packet_of(segment), piece.as_bytes());
            sequence += u32::try_from(piece.len()).unwrap();
        }
        recording.add(mk_packet(50_001, PORT), b"");
        recording.add(mk_packet(PORT, 50_000), b"HTTP/1.1 200 OK\r\n\r\n");
        let speeches = recording.speeches(2, 1);
        let [speech] = speeches[..] else { panic!("{speeches:?}") };
        assert_eq!(speech.port, PORT);
        let requests = speech.requests().unwrap();
        let paths: Vec<_> = requests.iter().map(|request| (&*request.authority, &*request.path)).collect();
        assert_eq!(paths, [("b", "/a"), ("b", "/")]);
        assert_eq!(requests[0].headers[1], ("x-c".to_owned(), "d".to_owned()));
    }

    #[test]
    fn what_is_sent_again_is_said_once() {
        let last = u32::MAX;
        let table: [(&str, &[(u32, &str)]); 8] = [
            ("nothing", &[(7, "GET"), (10, " /")]),
            ("a segment", &[(7, "GET"), (7, "GET"), (10, " /")]),
            ("a segment, late", &[(7, "GET"), (10, " /"), (7, "GET")]),
            ("a segment, with more", &[(7, "GET"), (7, "GET /")]),
            ("the end of a segment, with more", &[(7, "GET"), (9, "T /")]),
            ("a segment before the numbers wrap", &[(last - 2, "GET"), (last - 2, "GET"), (0, " /")]),
            ("a segment in which they wrap", &[(last - 1, "GET"), (last - 1, "GET"), (1, " /")]),
            ("a part after they wrap", &[(last - 1, "GET"), (0, "T /")]),
        ];
        for (what, segments) in table {
            let segments: Vec<_> = segments.iter().map(|(sequence, payload)| (*sequence, false, *payload)).collect();
            assert_eq!(said(&segments), "GET /", "sent again is {what}");
        }
    }

    #[test]
    fn numbers_begin_anew_with_a_connection() {
        let with_payload = [(6, true, "GET"), (7, false, "GET /")];
        assert_eq!(said(&with_payload), "GET /", "a SYN takes one number");
        let again = [(1_000, false, "GET"), (6, true, ""), (6, true, ""), (7, false, " /"), (7, false, " /")];
        assert_eq!(said(&again), "GET /", "ports are used again");
    }

    #[test]
    fn what_is_something_else_is_not_read() {
        for text in ["GET / HTTP/1.1\r\nhost: b\r\n", "\x16\x03\x01", "GET /\r\n\r\n", "GET / HTTP/1.1\r\nno\r\n\r\n"] {
            let mut recording = Recording::default();
            recording.add(mk_packet(50_000, PORT), text.as_bytes());
            assert_eq!(recording.speeches(2, 1)[0].requests(), None, "{text:?}");
        }
    }

    #[test]
    fn other_clusters_and_api_servers_are_left_out() {
        let mut recording = Recording::default();
        recording.add(mk_packet(50_000, PORT), b"a");
        recording.add(mk_packet(50_000, cluster::PORT), b"a");
        assert_eq!(recording.speeches(2, 1).len(), 1);
        assert_eq!(recording.speeches(1, 2), []);
    }
}
