//! godwit
