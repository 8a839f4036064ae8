//! Every impairment, for as long as it takes: rules leave a tier, come back, and move no more than they must.

mod away;
mod calls;
mod strain;

use anyhow::{Result, ensure};

use crate::impaired::{self, Seen};
use crate::scene::whole_machine;

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn requests_leave_tiers_however_they_are_impaired() -> Result<()> {
    let _turn = whole_machine().await;
    let seen = impaired::see().await?;
    let Seen { late, jitter, jitter_of_replies, loss_20, loss_5, loss_2, hole, failback, flap } = seen;
    let rows = [
        ("80 ms more", late),
        ("jitter", jitter),
        ("jitter of replies", jitter_of_replies),
        ("20 % loss", loss_20),
        ("5 % loss", loss_5),
        ("2 % loss", loss_2),
        ("a hole", hole),
        ("the end of a hole", failback.clone()),
    ];
    for (what, moves) in rows {
        ensure!(moves.iter().all(|it| it.last.is_finite()), "requests of some tiers do not move at {what}: {moves:?}");
    }
    ensure!(failback.iter().all(|it| it.lost == 0), "failback loses requests: {failback:?}");
    ensure!(flap.iter().all(|moves| *moves <= 2), "requests move {flap:?} times while tiers flap");
    Ok(())
}

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn tiers_are_not_left_for_what_is_none_of_their_business() -> Result<()> {
    let _turn = whole_machine().await;
    strain::all_cores_are_busy_and_a_far_gateway_dies().await
}

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn rules_leave_a_tier_and_come_back_whoever_is_away() -> Result<()> {
    let _turn = whole_machine().await;
    away::each_is_away_in_turn().await
}

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn calls_leave_a_hole_and_none_is_lost_when_they_come_back() -> Result<()> {
    let _turn = whole_machine().await;
    calls::a_hole_of_40_seconds().await
}
