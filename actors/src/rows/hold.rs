//! All shards of some tools at the same moment.

use std::time::Duration;

use parking_lot::MutexGuard;
use toolyard_contract::Shard;

use super::table::SharedShard;

/// Does something to all shards at the same moment.
///
/// A body that computes in a shard has it locked. It is waited for while no other shard is held, so that it holds
/// up nobody but its own callers.
pub(crate) fn hold_all<T>(
    shards: &[SharedShard],
    act: impl FnOnce(&mut dyn Iterator<Item = &mut Box<dyn Shard>>) -> T,
) -> T {
    /// Longer than any commit takes, and short enough to wait with others held.
    const A_MOMENT: Duration = Duration::from_millis(1);
    let mut first = 0;
    let mut held: Vec<MutexGuard<'_, Box<dyn Shard>>> = loop {
        let mut held: Vec<Option<MutexGuard<'_, _>>> = shards.iter().map(|_| None).collect();
        if let Some(shard) = shards.get(first) {
            held[first] = Some(shard.lock());
        }
        let missing = (0..shards.len()).filter(|place| *place != first).find(|place| {
            held[*place] = shards[*place].try_lock_for(A_MOMENT);
            held[*place].is_none()
        });
        match missing {
            Some(busy) => first = busy,
            None => break held.into_iter().flatten().collect(),
        }
    };
    act(&mut held.iter_mut().map(|shard| &mut **shard))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use toolyard_contract::{IntoTool, StatefulFunction, ToolSpec};

    use super::*;

    fn shards(count: usize) -> Vec<SharedShard> {
        let spec = || ToolSpec::new("count");
        let tool = StatefulFunction::with_schema(spec(), |_| 0_u64, |count: &mut u64| *count).into_tool();
        (0..count).map(|_| Arc::new(Mutex::new(tool.state().unwrap().shard))).collect()
    }

    #[test]
    fn a_shard_that_is_at_work_is_waited_for_with_no_other_held() {
        let shards = shards(3);
        let at_work = shards[1].lock();
        std::thread::scope(|scope| {
            let holding = scope.spawn(|| hold_all(&shards, |all| all.count()));
            for _ in 0..100 {
                // Whoever wants another shard gets it.
                drop((shards[0].lock(), shards[2].lock()));
                std::thread::yield_now();
            }
            assert!(!holding.is_finished());
            drop(at_work);
            assert_eq!(holding.join().unwrap(), 3);
        });
        assert_eq!(hold_all(&[], |all| all.count()), 0);
    }
}
