//! Random samples: each row with a probability, or the first ones of a random order.

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_plan::{Sample, SampleSize};
use godwit_vector::ColumnType;

use super::stored::{CompressedColumns, nested_columns};
use super::stream::Stream;
use super::{Needs, PhysicalPlanner};
use crate::operators::SampleTransform;
use crate::sort::{SortKey, SortSpec};

impl PhysicalPlanner<'_> {
    pub(super) fn plan_sample(&mut self, sample: &Sample, needs: Needs) -> Result<Stream> {
        let mut stream = self.plan_node(sample.input, Needs::columns(needs.columns))?;
        if sample.seed.is_some() {
            // So that the same rows get the same numbers.
            stream.in_order();
        }
        match sample.size {
            SampleSize::Percent(percent) => {
                let name = format!("Sample {percent}%");
                stream.transform(SampleTransform::of_share(percent / 100.0, sample.seed, name));
                Ok(stream)
            }
            SampleSize::Rows(rows) => self.first_of_random_order(stream, rows, sample.seed),
        }
    }

    fn first_of_random_order(&mut self, mut stream: Stream, rows: u64, seed: Option<u64>) -> Result<Stream> {
        let name = format!("Sample {rows} rows");
        let columns = stream.columns.clone();
        let compressed: CompressedColumns = nested_columns(&stream.row_type);
        if compressed.iter().any(Option::is_some) {
            self.compress_stream(&mut stream, &compressed, Vec::new());
        }
        let row_type = stream.row_type.clone();
        stream.transform(SampleTransform::of_order(seed, "Random order"));
        stream.row_type.push(ColumnType::new(DataType::Int64, false)?);
        let key = SortKey { expression: stream.column(columns.len()), descending: false, nulls_first: false };
        let spec = SortSpec {
            keys: vec![key],
            input: stream.row_type.clone(),
            output: (0..columns.len()).collect(),
            limit: Some(usize::try_from(rows).unwrap_or(usize::MAX)),
            bound: None,
        };
        let (branch, explain) = self.close_sort(stream, spec, name)?;
        let mut stream = Stream::new(columns, row_type, branch, explain);
        self.decompress_stream(&mut stream, &compressed);
        Ok(stream)
    }
}
