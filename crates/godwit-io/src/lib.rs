//! godwit-io
