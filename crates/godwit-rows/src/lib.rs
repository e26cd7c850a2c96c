//! godwit-rows
