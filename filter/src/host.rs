//! Calls into the host (Proxy-Wasm ABI 0.2.1).
//!
//! The SDK's own wrappers panic on a status that they do not expect; here every status is a value, so
//! that a host that fails makes us refuse a request and not trap.

mod map;

use std::io::{self, Read};
use std::ptr::{null, null_mut, slice_from_raw_parts_mut};
use std::time::Duration;

use mcwan_policy::HeaderLine;
use mcwan_policy::sla::Moment;
use proxy_wasm::types::{BufferType, LogLevel, MapType, MetricType};

/// A call that the host did not answer with `OK`: the ABI's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostError(u32);

impl HostError {
    /// What was asked for does not exist (ABI: `NOT_FOUND`).
    const NOT_FOUND: Self = Self(1);
    /// It cannot be what was asked for: no cluster has such a name (ABI: `BAD_ARGUMENT`).
    pub(crate) const BAD_ARGUMENT: Self = Self(2);
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
    fn proxy_get_shared_data(
        key: *const u8,
        key_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
        version: *mut u32,
    ) -> u32;
    fn proxy_set_shared_data(key: *const u8, key_size: usize, value: *const u8, value_size: usize, version: u32)
    -> u32;
    fn proxy_http_call(
        cluster: *const u8,
        cluster_size: usize,
        headers: *const u8,
        headers_size: usize,
        body: *const u8,
        body_size: usize,
        trailers: *const u8,
        trailers_size: usize,
        timeout: u32,
        token: *mut u32,
    ) -> u32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u32;
}

/// Writes a line to the proxy's log. A host that cannot log is not worth refusing anything for.
pub(crate) fn log(level: LogLevel, message: &str) {
    // SAFETY: the host reads `message` during the call only.
    unsafe { proxy_log(level, message.as_ptr(), message.len()) };
}

/// Asks for `proxy_on_tick` every so often.
pub(crate) fn set_tick_period(period: Duration) -> HostResult<()> {
    let milliseconds = u32::try_from(period.as_millis()).unwrap_or(u32::MAX);
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
    map::parse(&map).ok_or(HostError::PARSE_FAILURE)
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
    let headers = map::print(headers).ok_or(HostError::PARSE_FAILURE)?;
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

/// The host's monotonic clock. The standard library's would panic where the host has none.
pub(crate) fn monotonic() -> HostResult<Moment> {
    const MONOTONIC: u32 = 1;
    let mut nanoseconds = 0;
    // SAFETY: the host writes `nanoseconds` during the call only.
    check(unsafe { clock_time_get(MONOTONIC, 1, &raw mut nanoseconds) })?;
    Ok(Moment::after_start(Duration::from_nanos(nanoseconds)))
}

/// A value that all VMs share, and the number of its writing; none if there is none.
pub(crate) fn shared_data(key: &str) -> HostResult<Option<(Vec<u8>, u32)>> {
    let mut version = 0;
    // SAFETY: the host reads `key` and writes `version` during the call only; for the slot see `read`.
    let value =
        read(|data, size| unsafe { proxy_get_shared_data(key.as_ptr(), key.len(), data, size, &raw mut version) });
    Ok(found(value)?.map(|value| (value, version)))
}

/// Shares a value, if nobody has since that number of writing; 0 is any.
pub(crate) fn set_shared_data(key: &str, value: &[u8], version: u32) -> HostResult<()> {
    // SAFETY: the host reads `key` and `value` during the call only.
    check(unsafe { proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), version) })
}

/// Sends a request without a body through a cluster of the proxy. Gives what its answer is known by; that comes in any case,
/// unless the root context ends.
pub(crate) fn http_call(cluster: &str, headers: &[HeaderLine], timeout: Duration) -> HostResult<u32> {
    let headers = map::print(headers).ok_or(HostError::PARSE_FAILURE)?;
    let no_trailers = 0_u32.to_le_bytes();
    let timeout = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    let mut token = 0;
    // SAFETY: the host reads what the pointers name, and writes `token`, during the call only.
    check(unsafe {
        proxy_http_call(
            cluster.as_ptr(),
            cluster.len(),
            headers.as_ptr(),
            headers.len(),
            null(),
            0,
            no_trailers.as_ptr(),
            no_trailers.len(),
            timeout,
            &raw mut token,
        )
    })?;
    Ok(token)
}

/// The status of the answer that the host tells of; none if it has none.
pub(crate) fn answer_status() -> HostResult<Option<Vec<u8>>> {
    const NAME: &str = ":status";
    // SAFETY: the host reads `NAME` during the call only; for the slot see `read`.
    found(read(|data, size| unsafe {
        proxy_get_header_map_value(MapType::HttpCallResponseHeaders, NAME.as_ptr(), NAME.len(), data, size)
    }))
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
