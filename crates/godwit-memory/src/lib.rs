//! godwit-memory
