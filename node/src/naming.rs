//! Owns naming functions written in JavaScript. The core may need names on any thread, but a function belongs to one:
//! it stays in a table of its own thread, and other threads use the core's plain style.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcpool::Naming;
use napi::bindgen_prelude::{Env, FnArgs, Function, FunctionRef};

pub(crate) type NamingFunction<'a> = Function<'a, NamedBy, Named>;

/// Server and raw tool name.
pub(crate) type NamedBy = FnArgs<(String, String)>;

/// The name, unless the function failed.
pub(crate) type Named = Option<String>;

type Kept = (Env, Rc<FunctionRef<NamedBy, Named>>);

thread_local! {
    static FUNCTIONS: RefCell<HashMap<u64, Kept>> = RefCell::default();
}

/// Keeps a function in its thread's table.
pub(crate) struct Namer(u64);

/// The naming, and what must be kept for as long as it is used.
pub(crate) fn by_function(
    env: Env,
    function: NamingFunction<'_>,
) -> napi::Result<(Naming, Rc<Namer>)> {
    let namer = Namer::new(env, function)?;
    Ok((namer.naming(), Rc::new(namer)))
}

impl Namer {
    fn new(env: Env, function: NamingFunction<'_>) -> napi::Result<Namer> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let function = Rc::new(function.create_ref()?);
        FUNCTIONS.with_borrow_mut(|functions| functions.insert(id, (env, function)));
        Ok(Namer(id))
    }

    fn naming(&self) -> Naming {
        let id = self.0;
        Naming::Function(Arc::new(move |server, tool| ask(id, server, tool)))
    }
}

fn ask(id: u64, server: &str, tool: &str) -> Option<String> {
    // Not borrowed during the call: the function may create another manager.
    let (env, function) = FUNCTIONS.with_borrow(|functions| functions.get(&id).cloned())?;
    let function = function.borrow_back(&env).ok()?;
    function.call(FnArgs::from((server.to_owned(), tool.to_owned()))).ok()?
}

impl Drop for Namer {
    fn drop(&mut self) {
        FUNCTIONS.with_borrow_mut(|functions| functions.remove(&self.0));
    }
}
