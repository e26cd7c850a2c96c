//! Files written and read back.
