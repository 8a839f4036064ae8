//! The functions that a module calls in the host.

use std::fmt;

macro_rules! host_calls {
    ($($call:ident = $name:literal,)*) => {
        /// A function of the Proxy-Wasm ABI 0.2.1 that a module may call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the Proxy-Wasm specification describes them")]
        pub enum HostCall {
            $($call,)*
        }

        impl HostCall {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$call,)*];

            /// The name under which a module imports it, from `env`.
            pub const fn import(self) -> &'static str {
                match self {
                    $(Self::$call => $name,)*
                }
            }
        }
    };
}

host_calls! {
    AddHeaderMapValue = "proxy_add_header_map_value",
    CallForeignFunction = "proxy_call_foreign_function",
    CloseStream = "proxy_close_stream",
    ContinueStream = "proxy_continue_stream",
    DefineMetric = "proxy_define_metric",
    DequeueSharedQueue = "proxy_dequeue_shared_queue",
    Done = "proxy_done",
    EnqueueSharedQueue = "proxy_enqueue_shared_queue",
    GetBufferBytes = "proxy_get_buffer_bytes",
    GetBufferStatus = "proxy_get_buffer_status",
    GetCurrentTimeNanoseconds = "proxy_get_current_time_nanoseconds",
    GetHeaderMapPairs = "proxy_get_header_map_pairs",
    GetHeaderMapSize = "proxy_get_header_map_size",
    GetHeaderMapValue = "proxy_get_header_map_value",
    GetLogLevel = "proxy_get_log_level",
    GetMetric = "proxy_get_metric",
    GetProperty = "proxy_get_property",
    GetSharedData = "proxy_get_shared_data",
    GetStatus = "proxy_get_status",
    GrpcCall = "proxy_grpc_call",
    GrpcCancel = "proxy_grpc_cancel",
    GrpcClose = "proxy_grpc_close",
    GrpcSend = "proxy_grpc_send",
    GrpcStream = "proxy_grpc_stream",
    HttpCall = "proxy_http_call",
    IncrementMetric = "proxy_increment_metric",
    Log = "proxy_log",
    RecordMetric = "proxy_record_metric",
    RegisterSharedQueue = "proxy_register_shared_queue",
    RemoveHeaderMapValue = "proxy_remove_header_map_value",
    ReplaceHeaderMapValue = "proxy_replace_header_map_value",
    ResolveSharedQueue = "proxy_resolve_shared_queue",
    SendLocalResponse = "proxy_send_local_response",
    SetBufferBytes = "proxy_set_buffer_bytes",
    SetEffectiveContext = "proxy_set_effective_context",
    SetHeaderMapPairs = "proxy_set_header_map_pairs",
    SetProperty = "proxy_set_property",
    SetSharedData = "proxy_set_shared_data",
    SetTickPeriodMilliseconds = "proxy_set_tick_period_milliseconds",
}

impl fmt::Display for HostCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.import())
    }
}
