//! Calls into the host (Proxy-Wasm ABI 0.2.1).
//!
//! The SDK's own wrappers panic on a status that they do not expect; here every status is a value, so
//! that a host that fails makes us refuse a request and not trap.

use std::io::{self, Read};
use std::ptr::{null_mut, slice_from_raw_parts_mut};

use mcwan_policy::HeaderLine;
use proxy_wasm::types::{BufferType, LogLevel, MapType, MetricType};

/// A call that the host did not answer with `OK`: the ABI's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostError(u32);

impl HostError {
    /// What was asked for does not exist (ABI: `NOT_FOUND`).
    const NOT_FOUND: Self = Self(1);
    /// The host's answer is not in the form that the ABI says (ABI: `PARSE_FAILURE`).
    const PARSE_FAILURE: Self = Self(4);
}

pub(crate) type HostResult<T> = Result<T, HostError>;

/// Where the host puts a value: it allocates it in our memory, through `proxy_on_memory_allocate`.
struct Slot {
    data: *mut u8,
    size: usize,
}

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_log(level: LogLevel, message: *const u8, size: usize) -> u32;
    fn proxy_set_tick_period_milliseconds(period: u32) -> u32;
    fn proxy_get_buffer_bytes(
        buffer: BufferType,
        start: usize,
        max_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_get_header_map_pairs(map: MapType, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_get_header_map_value(
        map: MapType,
        name: *const u8,
        name_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_replace_header_map_value(
        map: MapType,
        name: *const u8,
        name_size: usize,
        value: *const u8,
        value_size: usize,
    ) -> u32;
    fn proxy_remove_header_map_value(map: MapType, name: *const u8, name_size: usize) -> u32;
    fn proxy_get_property(path: *const u8, path_size: usize, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_call_foreign_function(
        name: *const u8,
        name_size: usize,
        argument: *const u8,
        argument_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_size: usize,
        body: *const u8,
        body_size: usize,
        headers: *const u8,
        headers_size: usize,
        grpc_status: i32,
    ) -> u32;
    fn proxy_define_metric(kind: MetricType, name: *const u8, name_size: usize, id: *mut u32) -> u32;
    fn proxy_increment_metric(id: u32, offset: i64) -> u32;
    fn proxy_record_metric(id: u32, value: u64) -> u32;
}

/// Writes a line to the proxy's log. A host that cannot log is not worth refusing anything for.
pub(crate) fn log(level: LogLevel, message: &str) {
    // SAFETY: the host reads `message` during the call only.
    unsafe { proxy_log(level, message.as_ptr(), message.len()) };
}

/// Asks for `proxy_on_tick` every so many milliseconds.
pub(crate) fn set_tick_period(milliseconds: u32) -> HostResult<()> {
    // SAFETY: numbers only.
    check(unsafe { proxy_set_tick_period_milliseconds(milliseconds) })
}

/// The plugin's configuration, read from the host piece by piece: the whole would take more memory than
/// what is compiled from it, and memory that a VM once took it never gives back.
#[derive(Default)]
pub(crate) struct PluginConfiguration {
    position: usize,
}

impl Read for PluginConfiguration {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // SAFETY: for the slot see `read`.
        let piece = read(|data, size| unsafe {
            proxy_get_buffer_bytes(BufferType::PluginConfiguration, self.position, into.len(), data, size)
        });
        let piece = piece.map_err(|HostError(status)| io::Error::other(format!("host call failed: {status}")))?;
        let (start, _) = into.split_at_mut_checked(piece.len()).ok_or(io::ErrorKind::InvalidData)?;
        start.copy_from_slice(&piece);
        self.position += piece.len();
        Ok(piece.len())
    }
}

/// The first line of a request header; none if there is no such header.
pub(crate) fn request_header(name: &str) -> HostResult<Option<Vec<u8>>> {
    // SAFETY: the host reads `name` during the call only; for the slot see `read`.
    let value = read(|data, size| unsafe {
        proxy_get_header_map_value(MapType::HttpRequestHeaders, name.as_ptr(), name.len(), data, size)
    });
    found(value)
}

/// Every line of the request's headers, pseudo-headers included.
pub(crate) fn request_headers() -> HostResult<Vec<HeaderLine>> {
    // SAFETY: for the slot see `read`.
    let map = read(|data, size| unsafe { proxy_get_header_map_pairs(MapType::HttpRequestHeaders, data, size) })?;
    parse_map(&map).ok_or(HostError::PARSE_FAILURE)
}

/// Makes a request header have this one line.
pub(crate) fn set_request_header(name: &str, value: &[u8]) -> HostResult<()> {
    // SAFETY: the host reads `name` and `value` during the call only.
    check(unsafe {
        proxy_replace_header_map_value(
            MapType::HttpRequestHeaders,
            name.as_ptr(),
            name.len(),
            value.as_ptr(),
            value.len(),
        )
    })
}

/// Removes every line of a request header, if there are any.
pub(crate) fn remove_request_header(name: &str) -> HostResult<()> {
    // SAFETY: the host reads `name` during the call only.
    check(unsafe { proxy_remove_header_map_value(MapType::HttpRequestHeaders, name.as_ptr(), name.len()) })
}

/// A property of the stream (Envoy's attributes), in the form that its type has; none if it has none.
pub(crate) fn property(path: &[&str]) -> HostResult<Option<Vec<u8>>> {
    let path = path.join("\0");
    // SAFETY: the host reads `path` during the call only; for the slot see `read`.
    found(read(|data, size| unsafe { proxy_get_property(path.as_ptr(), path.len(), data, size) }))
}

/// Makes the proxy choose the route anew. From Envoy 1.33 on, changing a header does not do it; hosts
/// that lack the function do it by themselves.
pub(crate) fn clear_route_cache() -> HostResult<()> {
    const NAME: &str = "clear_route_cache";
    // SAFETY: the host reads `NAME` during the call only; for the slot see `read`.
    let result = read(|data, size| unsafe {
        proxy_call_foreign_function(NAME.as_ptr(), NAME.len(), NAME.as_ptr(), 0, data, size)
    });
    found(result).map(|_| ())
}

/// Answers the request. `details` is what an access log shows as `%RESPONSE_CODE_DETAILS%`.
pub(crate) fn send_local_response(status: u16, details: &str, headers: &[HeaderLine], body: &str) -> HostResult<()> {
    const NOT_GRPC: i32 = -1;
    let headers = print_map(headers).ok_or(HostError::PARSE_FAILURE)?;
    // SAFETY: the host reads what the pointers name during the call only.
    check(unsafe {
        proxy_send_local_response(
            u32::from(status),
            details.as_ptr(),
            details.len(),
            body.as_ptr(),
            body.len(),
            headers.as_ptr(),
            headers.len(),
            NOT_GRPC,
        )
    })
}

/// A counter by its name, made on first use.
pub(crate) fn define_counter(name: &str) -> HostResult<u32> {
    define_metric(MetricType::Counter, name)
}

/// A gauge by its name, made on first use.
pub(crate) fn define_gauge(name: &str) -> HostResult<u32> {
    define_metric(MetricType::Gauge, name)
}

fn define_metric(kind: MetricType, name: &str) -> HostResult<u32> {
    let mut id = 0;
    // SAFETY: the host reads `name` and writes `id` during the call only.
    check(unsafe { proxy_define_metric(kind, name.as_ptr(), name.len(), &raw mut id) })?;
    Ok(id)
}

/// Adds to a counter.
pub(crate) fn increment_counter(id: u32, by: u32) -> HostResult<()> {
    // SAFETY: numbers only.
    check(unsafe { proxy_increment_metric(id, i64::from(by)) })
}

/// Sets a gauge.
pub(crate) fn set_gauge(id: u32, value: u64) -> HostResult<()> {
    // SAFETY: numbers only.
    check(unsafe { proxy_record_metric(id, value) })
}

fn check(status: u32) -> HostResult<()> {
    if status == 0 { Ok(()) } else { Err(HostError(status)) }
}

fn found<T>(result: HostResult<T>) -> HostResult<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(HostError::NOT_FOUND) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes over what the host put into a slot; it puts nothing there for an empty value.
fn read(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> HostResult<Vec<u8>> {
    let mut slot = Slot { data: null_mut(), size: 0 };
    check(call(&raw mut slot.data, &raw mut slot.size))?;
    if slot.data.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the ABI has the host allocate `size` bytes by `proxy_on_memory_allocate`, which the SDK
    // does as a boxed slice, and fill them; nobody else frees them.
    let value = unsafe { Box::from_raw(slice_from_raw_parts_mut(slot.data, slot.size)) };
    Ok(value.into_vec())
}

/// Reads the ABI's form of a map: the number of pairs, the sizes of each, then each name and value with
/// a NUL behind it.
fn parse_map(bytes: &[u8]) -> Option<Vec<HeaderLine>> {
    let mut sizes = bytes.chunks_exact(4).map(|size| {
        let size = u32::from_le_bytes(size.try_into().ok()?);
        usize::try_from(size).ok()
    });
    let pairs = sizes.next()??;
    let mut rest = bytes.get(pairs.checked_mul(8)?.checked_add(4)?..)?;
    let mut take = |size: Option<usize>| {
        let (text, behind) = rest.split_at_checked(size?)?;
        rest = behind.strip_prefix(b"\0")?;
        Some(text.to_vec())
    };
    (0..pairs).map(|_| Some((take(sizes.next()?)?, take(sizes.next()?)?))).collect()
}

/// Writes the ABI's form of a map.
fn print_map(lines: &[HeaderLine]) -> Option<Vec<u8>> {
    let mut bytes = u32::try_from(lines.len()).ok()?.to_le_bytes().to_vec();
    for text in lines.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
    }
    for text in lines.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend(text);
        bytes.push(0);
    }
    Some(bytes)
}
