use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use godwit::{Connection, Database};

use super::{Columns, Format, Options};

/// Returns two batches of the same columns: a number, a string with everything that needs escaping, a decimal, an
/// instant.
pub(super) fn batches() -> Vec<RecordBatch> {
    let batch = |numbers: Vec<Option<i64>>, texts: Vec<Option<&str>>| {
        let rows = numbers.len();
        let decimals = Decimal128Array::from(vec![Some(1250); rows]).with_precision_and_scale(10, 2).unwrap();
        let instants = TimestampMicrosecondArray::from(vec![Some(86_400_000_000); rows]);
        RecordBatch::try_from_iter_with_nullable([
            ("n", Arc::new(Int64Array::from(numbers)) as ArrayRef, true),
            ("text", Arc::new(StringArray::from(texts)) as ArrayRef, true),
            ("d", Arc::new(decimals) as ArrayRef, true),
            ("t", Arc::new(instants) as ArrayRef, true),
        ])
        .unwrap()
    };
    vec![batch(vec![Some(1), None], vec![Some("a,\"b\""), Some("x|y\nz")]), batch(vec![Some(300)], vec![None])]
}

fn columns_of(batch: &RecordBatch) -> Columns {
    use arrow_schema::DataType as D;
    use godwit::SqlType as T;
    let schema = batch.schema();
    let ty = |field: &Arc<arrow_schema::Field>| match field.data_type() {
        D::Int64 => T::BigInt,
        D::Float64 => T::Double,
        D::Boolean => T::Boolean,
        D::Decimal128(precision, scale) => T::Decimal { precision: *precision, scale: *scale as u8 },
        D::Timestamp(..) => T::Timestamp,
        _ => T::Varchar,
    };
    let fields = schema.fields();
    Columns { names: fields.iter().map(|field| field.name().clone()).collect(), types: fields.iter().map(ty).collect() }
}

pub(super) fn render(format: Format, batches: &[RecordBatch]) -> String {
    render_with(format, batches, &Options::default())
}

pub(super) fn render_with(format: Format, batches: &[RecordBatch], options: &Options) -> String {
    let mut out = Vec::new();
    let mut renderer = format.renderer(columns_of(&batches[0]), options);
    for batch in batches {
        renderer.batch(batch, &mut out).unwrap();
    }
    renderer.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_format_escapes_what_would_break_it() {
    assert_eq!(
        render(Format::Csv, &batches()),
        "n,text,d,t\n1,\"a,\"\"b\"\"\",12.50,1970-01-02 00:00:00\n,\"x|y\nz\",12.50,1970-01-02 00:00:00\n\
         300,,12.50,1970-01-02 00:00:00\n"
    );
    assert_eq!(
        render(Format::JsonLines, &batches()),
        "{\"n\":1,\"text\":\"a,\\\"b\\\"\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}\n\
         {\"n\":null,\"text\":\"x|y\\nz\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}\n\
         {\"n\":300,\"text\":null,\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}\n"
    );
    assert_eq!(
        render(Format::Json, &batches()),
        "[{\"n\":1,\"text\":\"a,\\\"b\\\"\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"},\
         {\"n\":null,\"text\":\"x|y\\nz\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"},\
         {\"n\":300,\"text\":null,\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}]\n"
    );
    assert_eq!(
        render(Format::Markdown, &batches()),
        "| n | text | d | t |\n|---:|---|---:|---|\n\
         | 1 | a,\"b\" | 12.50 | 1970-01-02 00:00:00 |\n\
         | NULL | x\\|y<br>z | 12.50 | 1970-01-02 00:00:00 |\n\
         | 300 | NULL | 12.50 | 1970-01-02 00:00:00 |\n"
    );
    assert_eq!(
        render(Format::List, &batches()),
        "n|text|d|t\n1|a,\"b\"|12.50|1970-01-02 00:00:00\nNULL|x|y\nz|12.50|1970-01-02 00:00:00\n\
         300|NULL|12.50|1970-01-02 00:00:00\n"
    );
    assert_eq!(
        render(Format::Tabs, &batches()[..1]),
        "n\ttext\td\tt\n1\ta,\"b\"\t12.50\t1970-01-02 00:00:00\n\tx|y\nz\t12.50\t1970-01-02 00:00:00\n"
    );
    assert_eq!(
        render(Format::Line, &batches()[..1]),
        "   n = 1\ntext = a,\"b\"\n   d = 12.50\n   t = 1970-01-02 00:00:00\n\n   n = NULL\ntext = x|y\n       z\n   \
         d = 12.50\n   t = 1970-01-02 00:00:00\n"
    );
    assert_eq!(
        render(Format::Insert, &batches()[..1]),
        "INSERT INTO \"result\" (\"n\", \"text\", \"d\", \"t\") VALUES (1, 'a,\"b\"', 12.50, '1970-01-02 00:00:00');\n\
         INSERT INTO \"result\" (\"n\", \"text\", \"d\", \"t\") VALUES (NULL, 'x|y\nz', 12.50, '1970-01-02 00:00:00');\n"
    );
}

#[test]
fn markup_is_escaped() {
    let column = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("a<b", column(vec![Some("<i>&\"'"), None]), true),
        ("c_d", column(vec![Some("50% \\ {x} ^~#$"), Some("\u{7}\u{1b}[31m")]), true),
    ])
    .unwrap();
    assert_eq!(
        render(Format::Html, std::slice::from_ref(&batch)),
        "<table>\n<tr><th>a&lt;b</th><th>c_d</th></tr>\n<tr><td>&lt;i&gt;&amp;&quot;&#39;</td><td>50% \\ {x} ^~#$</td>\
         </tr>\n<tr><td>NULL</td><td>\u{fffd}\u{fffd}[31m</td></tr>\n</table>\n"
    );
    assert_eq!(
        render(Format::Latex, std::slice::from_ref(&batch)),
        "\\begin{tabular}{ll}\n\\hline\na<b & c\\_d \\\\\n\\hline\n<i>\\&\"' & 50\\% \\textbackslash{} \\{x\\} \
         \\textasciicircum{}\\textasciitilde{}\\#\\$ \\\\\nNULL &   [31m \\\\\n\\hline\n\\end{tabular}\n"
    );
}

#[test]
fn options_change_headers_nulls_and_separators() {
    let batch = &batches()[..1];
    let bare = Options { headers: false, null: Some("-".into()), ..Options::default() };
    assert_eq!(render_with(Format::Csv, batch, &bare).lines().nth(1), Some("-,\"x|y"));
    assert!(render_with(Format::Csv, batch, &bare).starts_with("1,\"a"));
    assert!(!render_with(Format::Html, batch, &bare).contains("<th>"));
    assert!(render_with(Format::Line, batch, &bare).contains("n = -\n"));
    let apart = Options { separators: Some(("; ".into(), "\r\n".into())), ..Options::default() };
    assert!(
        render_with(Format::Csv, batch, &apart).starts_with("n; text; d; t\r\n1; \"a,\"\"b\"\"\"; 12.50"),
        "{}",
        render_with(Format::Csv, batch, &apart)
    );
    let table = Options { table: "my.t\"x".into(), ..Options::default() };
    assert!(render_with(Format::Insert, batch, &table).starts_with("INSERT INTO \"my\".\"t\"\"x\" ("));
}

#[test]
fn inserts_keep_numbers_to_the_last_bit() {
    let batch = RecordBatch::try_from_iter([
        ("f", Arc::new(Float64Array::from(vec![0.1 + 0.2, 1e300, f64::NAN, f64::NEG_INFINITY])) as ArrayRef),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true, false])) as ArrayRef),
    ])
    .unwrap();
    let text = render(Format::Insert, &[batch]);
    let values: Vec<&str> = text.lines().filter_map(|line| line.split_once("VALUES ")).map(|(_, row)| row).collect();
    assert_eq!(values, ["(0.30000000000000004e0, TRUE);", "(1e300, FALSE);", "('NaN', TRUE);", "('-inf', FALSE);"]);
}

#[test]
fn each_format_writes_a_result_without_rows() {
    let columns = columns_of(&batches()[0]);
    let render = |format: Format| {
        let mut out = Vec::new();
        format.renderer(columns.clone(), &Options::default()).finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(render(Format::Csv), "n,text,d,t\n");
    assert_eq!(render(Format::List), "n|text|d|t\n");
    assert_eq!(render(Format::JsonLines), "");
    assert_eq!(render(Format::Json), "[]\n");
    assert_eq!(render(Format::Line), "");
    assert_eq!(render(Format::Insert), "");
    assert_eq!(render(Format::Markdown), "| n | text | d | t |\n|---:|---|---:|---|\n");
    assert!(render(Format::Html).ends_with("</tr>\n</table>\n"));
    assert!(render(Format::Box).ends_with("0 rows\n"));
}

/// All kinds of values, with everything that a format might trip over.
const EVERYTHING: &str = "SELECT [1, NULL] AS l, {'a': 'x''y', 'b': [1]} AS s, map {'k': 'v|w'} AS m, \
    INTERVAL '1 month 2 days 3.5 seconds' AS i, '\\x00\\xff'::BLOB AS b, TIME '10:11:12.5' AS t, \
    TIMESTAMPTZ '2020-01-01 00:00:00+00' AS tz, '101'::BIT AS bits, 1::HUGEINT AS h, [['a,b', NULL, 'NULL', '']] AS ll, \
    UUID 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' AS u, '{\"a\": \"<\"}'::JSON AS j, NULL AS n, '東京\n\t\"''' AS text";

fn of_query(connection: &Connection, sql: &str, format: Format) -> String {
    let mut result = connection.query(sql).unwrap();
    let mut renderer = format.renderer(Columns::of(&result).unwrap(), &Options::default());
    let mut out = Vec::new();
    result.by_ref().for_each(|batch| renderer.batch(&batch.unwrap(), &mut out).unwrap());
    renderer.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_format_writes_every_type() {
    let connection = Database::open(":memory:").unwrap().connect();
    for name in Format::names() {
        let format = <Format as clap::ValueEnum>::from_str(&name, false).unwrap();
        let text = of_query(&connection, EVERYTHING, format);
        assert!(text.contains("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), "{name}: {text}");
        assert!(text.contains("1 month 2 days 00:00:03.5"), "{name}: {text}");
        assert!(!text.contains('\u{1b}'), "{name}: {text}");
    }
    assert_eq!(
        of_query(&connection, EVERYTHING, Format::Csv).split_once('\n').unwrap().1,
        "\"[1, NULL]\",\"{'a': 'x\\'y', 'b': [1]}\",{k=v|w},1 month 2 days 00:00:03.5,\\x00ff,10:11:12.5,2020-01-01 \
         00:00:00+00,101,1,\"[['a,b', NULL, 'NULL', '']]\",a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,\"{\"\"a\"\": \
         \"\"<\"\"}\",,\"東京\n\t\"\"'\"\n"
    );
}

#[test]
fn json_has_the_values_of_to_json() {
    let connection = Database::open(":memory:").unwrap().connect();
    let everything = [
        r#"{"l":[1,null],"s":{"a":"x'y","b":[1]},"m":{"k":"v|w"},"i":"1 month 2 days 00:00:03.5","b":"\\x00ff","#,
        r#""t":"10:11:12.5","tz":"2020-01-01T00:00:00+00:00","bits":"101","h":1,"ll":[["a,b",null,"NULL",""]],"#,
        r#""u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","j":{"a": "<"},"n":null,"text":"東京\n\t\"'"}"#,
        "\n",
    ];
    assert_eq!(of_query(&connection, EVERYTHING, Format::JsonLines), everything.concat());
    let floats = "SELECT 'NaN'::DOUBLE AS \"a\"\"b\", '-inf'::REAL AS c, 1e300 AS d";
    assert_eq!(of_query(&connection, floats, Format::Json), "[{\"a\\\"b\":\"NaN\",\"c\":\"-inf\",\"d\":1e300}]\n");
}
