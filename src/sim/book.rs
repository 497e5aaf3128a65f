//! An order book: buyers and sellers by price, and who came first at a price.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

/// An order as it comes.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Order {
    side: Side,
    price: u64,
    quantity: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Buy,
    Sell,
}

/// What has not been matched yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OrderBook {
    buys: Levels,
    sells: Levels,
    /// What has been matched in all.
    traded: u64,
}

/// Quantities that wait, first come first, by price. Each call works on a copy of the book: it shares the levels that it
/// leaves alone, so that a copy costs by the prices, not by the orders.
type Levels = BTreeMap<u64, Arc<VecDeque<u64>>>;

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Placed {
    matched: u64,
    waits: u64,
}

impl OrderBook {
    /// Matches an order with what crosses it, best price first, and keeps the rest.
    pub(super) fn place(&mut self, Order { side, price, quantity }: Order) -> Placed {
        let mut open = quantity;
        let (other, own) = match side {
            Side::Buy => (&mut self.sells, &mut self.buys),
            Side::Sell => (&mut self.buys, &mut self.sells),
        };
        while open > 0 {
            let best = match side {
                Side::Buy => other.first_entry().filter(|level| *level.key() <= price),
                Side::Sell => other.last_entry().filter(|level| *level.key() >= price),
            };
            let Some(mut level) = best else { break };
            let waiting = Arc::make_mut(level.get_mut());
            while open > 0
                && let Some(first) = waiting.front_mut()
            {
                let matched = open.min(*first);
                open -= matched;
                *first -= matched;
                if *first == 0 {
                    waiting.pop_front();
                }
            }
            if level.get().is_empty() {
                level.remove();
            }
        }
        if open > 0 {
            Arc::make_mut(own.entry(price).or_default()).push_back(open);
        }
        self.traded += quantity - open;
        Placed { matched: quantity - open, waits: open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_match_the_best_price_first_and_the_rest_waits() {
        let mut book = OrderBook::default();
        let mut place = |side, price, quantity| {
            let Placed { matched, waits } = book.place(Order { side, price, quantity });
            (matched, waits)
        };
        assert_eq!(place(Side::Sell, 12, 5), (0, 5));
        assert_eq!(place(Side::Sell, 10, 5), (0, 5));
        assert_eq!(place(Side::Sell, 10, 2), (0, 2));
        assert_eq!(place(Side::Buy, 9, 1), (0, 1));
        assert_eq!(place(Side::Buy, 11, 6), (6, 0));
        assert_eq!(place(Side::Buy, 12, 8), (6, 2));
        assert_eq!(place(Side::Sell, 1, 3), (3, 0));
        assert_eq!(book, OrderBook { traded: 15, ..OrderBook::default() });
    }
}
