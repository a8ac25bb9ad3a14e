// uWebSockets by its C interface, on one thread: uws ADDRESS WAIT-MS.
//
// It answers every request as the other servers of cmd/peers do, WAIT-MS milliseconds later.

use libuwebsockets_sys::*;
use std::ffi::{c_int, c_void, CString};
use std::ptr::{addr_of_mut, null, null_mut};

const PLAIN: c_int = 0;

static mut WAIT_MS: c_int = 0;

// A response that waits for its timer. It is null once its client has gone.
struct Waiting {
    res: *mut uws_res_t,
}

unsafe extern "C" fn write(res: *mut uws_res_t, _: *mut c_void) {
    let (name, value, body) = ("Content-Type", "text/plain", "Hello, World!");
    uws_res_write_header(PLAIN, res, name.as_ptr().cast(), name.len(), value.as_ptr().cast(), value.len());
    uws_res_end(PLAIN, res, body.as_ptr().cast(), body.len(), false);
}

unsafe extern "C" fn hello(res: *mut uws_res_t, _: *mut uws_req_t, _: *mut c_void) {
    if WAIT_MS == 0 {
        return write(res, null_mut());
    }
    let waiting = Box::into_raw(Box::new(Waiting { res }));
    uws_res_on_aborted(PLAIN, res, Some(aborted), waiting.cast());
    let timer = us_create_timer(uws_get_loop(), 0, size_of::<*mut Waiting>() as u32);
    *us_timer_ext(timer).cast() = waiting;
    // the clock of the loop is behind by up to a millisecond
    us_timer_set(timer, Some(expired), WAIT_MS + 1, 0);
}

unsafe extern "C" fn aborted(_: *mut uws_res_t, waiting: *mut c_void) {
    (*waiting.cast::<Waiting>()).res = null_mut();
}

unsafe extern "C" fn expired(timer: *mut us_timer_t) {
    let waiting: *mut Waiting = *us_timer_ext(timer).cast();
    us_timer_close(timer);
    let waiting = Box::from_raw(waiting);
    if !waiting.res.is_null() {
        uws_res_cork(PLAIN, waiting.res, Some(write), null_mut());
    }
}

unsafe extern "C" fn listening(socket: *mut us_listen_socket_t, _: uws_app_listen_config_t, _: *mut c_void) {
    if socket.is_null() {
        eprintln!("uws: the address is not free");
        std::process::exit(1);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (host, port) = args[1].rsplit_once(':').expect("the address has no port");
    let host = CString::new(host).unwrap();
    unsafe {
        *addr_of_mut!(WAIT_MS) = args[2].parse().expect("the wait is no number");
        let options = us_socket_context_options_t {
            key_file_name: null(),
            cert_file_name: null(),
            passphrase: null(),
            dh_params_file_name: null(),
            ca_file_name: null(),
            ssl_ciphers: null(),
            ssl_prefer_low_memory_usage: 0,
        };
        let app = uws_create_app(PLAIN, options);
        uws_app_any(PLAIN, app, c"/*".as_ptr(), Some(hello), null_mut());
        let config = uws_app_listen_config_t { port: port.parse().expect("the port is no number"), host: host.as_ptr(), options: 0 };
        uws_app_listen_with_config(PLAIN, app, config, Some(listening), null_mut());
        uws_app_run(PLAIN, app);
    }
}
