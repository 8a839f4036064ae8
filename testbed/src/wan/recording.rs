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

const END_OF_LINE: &[u8] = b"\r\n";
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// What was said to the ports that are listened on, from when it began. Answers are not in it, nor is what API servers
/// are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    connections: BTreeMap<Connection, Vec<u8>>,
    kept: usize,
    is_cut: bool,
}

/// One connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Connection {
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
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
        spoken.map(|(connection, bytes)| Speech { port: connection.to.1, bytes }).collect()
    }

    /// Whether there was room for everything; else its end is missing.
    pub fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Takes note of what a packet carries.
    pub(super) fn add(&mut self, packet: Packet, payload: &[u8]) {
        let Some(segment) = packet.segment else { return };
        if payload.is_empty() || segment.to_port >= FIRST_EPHEMERAL_PORT || segment.to_port == cluster::PORT {
            return;
        }
        let connection = Connection { from: (packet.from, segment.from_port), to: (packet.to, segment.to_port) };
        let is_known = self.connections.contains_key(&connection);
        self.kept += payload.len();
        self.is_cut |= self.kept > MAX_BYTES || !is_known && self.connections.len() >= MAX_CONNECTIONS;
        if !self.is_cut {
            self.connections.entry(connection).or_default().extend(payload);
        }
    }
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
        let (from, to) = (Network::of_cluster(2).host(10), Network::of_cluster(1).host(11));
        Packet { from, to, segment: Some(Segment { from_port, to_port, opens: false }) }
    }

    #[test]
    fn requests_are_read_however_they_are_cut() {
        let mut recording = Recording::default();
        for piece in ["GET /a HTTP/1.1\r\nho", "st: b\r\nX-C:  d \r\n\r\nGET / HTTP/1.1\r\n", "host: b\r\n\r\n"] {
            recording.add(mk_packet(50_000, PORT), piece.as_bytes());
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
