//! Tells the linker that Node brings the Node-API symbols.

fn main() {
    napi_build::setup();
}
