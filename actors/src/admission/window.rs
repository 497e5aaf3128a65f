//! A sliding window over the begins of calls: what any stretch of time of a rate's length has seen.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;
use toolyard_contract::Rate;

/// How many groups of begins are remembered, so that a window takes 10 KB at most however high its rate is. Up to this
/// many calls each begin is known exactly; above, begins that lie closer together than this part of the window count as
/// the last of them, so that a call waits longer than it must, by 0.4 % of the window at most, and never shorter.
const MOST_GROUPS: u32 = 256;

/// What a rate remembers. At most its number of calls begin within any stretch of its time.
#[derive(Debug)]
pub(super) struct Window {
    rate: Rate,
    /// Begins that count, the oldest first.
    groups: VecDeque<Group>,
    /// The sum of the groups.
    counted: u32,
    /// Calls that may begin and have not yet.
    reserved: u32,
}

#[derive(Debug)]
struct Group {
    first: Instant,
    last: Instant,
    count: u32,
}

impl Window {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, groups: VecDeque::new(), counted: 0, reserved: 0 }
    }

    /// Lets up to `wanted` calls begin now, and gives their number.
    pub(super) fn take(&mut self, now: Instant, wanted: usize) -> usize {
        let count = self.room(now).min(u32::try_from(wanted).unwrap_or(u32::MAX));
        self.note(now, count);
        count as usize
    }

    /// Keeps room for one call, which begins later.
    ///
    /// # Errors
    /// Says how long there is none at least.
    pub(super) fn reserve(&mut self, now: Instant) -> Result<(), Duration> {
        if self.room(now) > 0 {
            self.reserved += 1;
            return Ok(());
        }
        let passed = |group: &Group| now.saturating_duration_since(group.last);
        // What is only reserved begins now at the earliest.
        Err(self.rate.per.saturating_sub(self.groups.front().map(passed).unwrap_or_default()))
    }

    /// Lets a call begin for which room was kept.
    pub(super) fn begin(&mut self, now: Instant) {
        self.release();
        self.note(now, 1);
    }

    /// Gives up room that was kept.
    pub(super) fn release(&mut self) {
        self.reserved -= 1;
    }

    /// Tells whether nothing has to be remembered.
    pub(super) fn is_idle(&mut self, now: Instant) -> bool {
        self.room(now) == self.rate.calls.get()
    }

    /// How many calls may begin now.
    fn room(&mut self, now: Instant) -> u32 {
        while let Some(oldest) = self.groups.front()
            && now.saturating_duration_since(oldest.last) >= self.rate.per
        {
            self.counted -= oldest.count;
            self.groups.pop_front();
        }
        self.rate.calls.get().saturating_sub(self.counted + self.reserved)
    }

    fn note(&mut self, now: Instant, count: u32) {
        if count == 0 {
            return;
        }
        let many = self.rate.calls.get() > MOST_GROUPS;
        let width = if many { self.rate.per / MOST_GROUPS } else { Duration::ZERO };
        self.counted += count;
        match self.groups.back_mut() {
            Some(group) if group.last == now || now.saturating_duration_since(group.first) < width => {
                group.last = now;
                group.count += count;
            }
            _ => self.groups.push_back(Group { first: now, last: now, count }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::moment::after;

    /// What comes to a window, so many milliseconds after what came before.
    #[derive(Clone, Debug)]
    enum Comes {
        Takes(usize),
        /// Begins so many arrivals later, or gives up.
        Reserves {
            later: usize,
            begins: bool,
        },
    }

    fn arrivals() -> impl Strategy<Value = Vec<(u64, Comes)>> {
        let comes = prop_oneof![
            (1_usize..400).prop_map(Comes::Takes),
            (0_usize..6, any::<bool>()).prop_map(|(later, begins)| Comes::Reserves { later, begins }),
        ];
        proptest::collection::vec((prop_oneof![Just(0), 1_u64..50, 50_u64..2_000], comes), 1..200)
    }

    /// How many calls begin within `per` from each begin, at most; the begins are in their order.
    fn most_in_any(per: Duration, begins: &[(Instant, usize)]) -> usize {
        let sum = |from: usize| {
            let start = begins[from].0;
            let within = begins[from..].iter().take_while(|(at, _)| *at - start < per);
            within.map(|(_, count)| count).sum()
        };
        (0..begins.len()).map(sum).max().unwrap_or_default()
    }

    proptest! {
        #[test]
        fn no_stretch_of_time_sees_more_calls_than_the_rate_says(
            calls in prop_oneof![1_u32..8, 200_u32..300, 300_u32..2_000],
            per_ms in 1_u64..3_000,
            arrivals in arrivals(),
        ) {
            let per = Duration::from_millis(per_ms);
            let mut window = Window::new(Rate::new(calls, per).unwrap());
            let (mut now, mut begins, mut kept) = (Instant::now(), Vec::new(), Vec::new());
            for (at, (pause, comes)) in arrivals.into_iter().enumerate() {
                now = after(now, Duration::from_millis(pause));
                for (_, begins_so) in kept.extract_if(.., |(when, _): &mut (usize, bool)| *when <= at) {
                    if begins_so { window.begin(now); begins.push((now, 1)) } else { window.release() }
                }
                match comes {
                    Comes::Takes(wanted) => {
                        // What certainly counts no more: a group may be kept for longer, by one width.
                        let width = if calls > MOST_GROUPS { per / MOST_GROUPS } else { Duration::ZERO };
                        let counts = begins.iter().filter(|(at, _)| now - *at < per + width).map(|(_, count)| count).sum::<usize>();
                        let least = (calls as usize).saturating_sub(counts + kept.len());
                        let taken = window.take(now, wanted);
                        prop_assert!(taken >= least.min(wanted), "{taken} of {wanted}, room for {least}");
                        begins.push((now, taken));
                    }
                    Comes::Reserves { later, begins } => match window.reserve(now) {
                        Ok(()) => kept.push((at + later, begins)),
                        Err(wait) => prop_assert!(wait <= per && wait > Duration::ZERO),
                    },
                }
                prop_assert!(window.groups.len() <= MOST_GROUPS as usize + 1);
            }
            prop_assert!(most_in_any(per, &begins) <= calls as usize);
        }
    }
}
