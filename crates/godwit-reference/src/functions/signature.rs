//! Signatures as text, `substring(VARCHAR, BIGINT) -> VARCHAR`, and overload resolution.
//!
//! | parameter | takes |
//! |---|---|
//! | a type | what can be implicitly cast to it |
//! | `T`, `U` | any type; all parameters with one letter get the same type |
//! | `N`, `D` | the same for numbers, for decimals |
//! | `T[]` | lists of it |
//! | `ANY` | anything, as it is |
//! | `T -> U` | a lambda |
//! | `T...` | any number of arguments, at the end |
//!
//! Among several matching signatures, the one with the fewest casts is chosen, the first one in case of a tie. The
//! result is a type or a letter, or, for a few functions, a special rule named in braces.

use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{Context, SqlType, StructField, Value, cast_kind, common_type};

/// A parsed signature.
pub(super) struct Signature {
    parameters: Vec<&'static str>,
    repeats_last: bool,
    result: &'static str,
}

/// Returns the name in a signature.
pub(super) fn name(text: &'static str) -> &'static str {
    text.split_once('(').map_or(text, |(name, _)| name)
}

impl Signature {
    fn of(text: &'static str) -> Self {
        let (head, result) = text.rsplit_once(") -> ").expect("signatures have a result");
        let (_, parameters) = head.split_once('(').expect("signatures have parameters");
        let mut parameters: Vec<&str> =
            if parameters.is_empty() { Vec::new() } else { parameters.split(", ").collect() };
        let repeated = parameters.last().and_then(|last| last.strip_suffix("..."));
        if let (Some(last), Some(repeated)) = (parameters.last_mut(), repeated) {
            *last = repeated;
        }
        Self { parameters, repeats_last: repeated.is_some(), result }
    }

    fn parameter(&self, index: usize) -> Option<&'static str> {
        let last = self.parameters.last().filter(|_| self.repeats_last);
        self.parameters.get(index).or(last).copied()
    }

    /// Returns the types to which the arguments are cast, the result type, and the number of casts.
    fn matches(&self, arguments: &[ArgumentType<'_>]) -> Option<(Vec<SqlType>, SqlType, usize)> {
        let fewest = self.parameters.len() - usize::from(self.repeats_last);
        if arguments.len() < fewest || (arguments.len() > fewest && !self.repeats_last) {
            return None;
        }
        let letters = Letters::of(self, arguments)?;
        let mut types = Vec::new();
        let mut casts = 0;
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = self.parameter(index)?;
            if parameter.contains(" -> ") != argument.lambda_parameters.is_some() {
                return None;
            }
            let ty = match parameter {
                "ANY" => known(argument.ty),
                _ if parameter.contains(" -> ") => argument.ty.clone(),
                _ => letters.resolve(parameter)?,
            };
            if *argument.ty != ty {
                cast_kind(argument.ty, &ty).filter(|cast| cast.context == Context::Implicit)?;
                casts += 1;
            }
            types.push(ty);
        }
        let ty = self.result_type(&letters, &types, arguments)?;
        Some((types, ty, casts))
    }

    fn result_type(&self, letters: &Letters, types: &[SqlType], arguments: &[ArgumentType<'_>]) -> Option<SqlType> {
        match self.result {
            "{sum}" => match types.first()? {
                SqlType::Decimal { precision, scale } => {
                    Some(SqlType::decimal((precision + 10).min(SqlType::DECIMAL_PRECISION_MAX), *scale))
                }
                _ => None,
            },
            "{struct}" => {
                let pairs = arguments.chunks_exact(2).zip(types.chunks_exact(2));
                let fields = pairs.map(|(argument, ty)| match argument[0].value {
                    Some(Value::Text(name)) => Some(StructField { name: name.clone(), ty: ty[1].clone() }),
                    _ => None,
                });
                let is_paired = arguments.len().is_multiple_of(2);
                is_paired.then(|| fields.collect::<Option<_>>()).flatten().map(SqlType::Struct)
            }
            "{field}" => match (types.first()?, arguments.get(1)?.value?) {
                (SqlType::Struct(fields), Value::Text(name)) => {
                    fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.ty.clone())
                }
                _ => None,
            },
            other => letters.resolve(other),
        }
    }
}

/// The types assigned to letters.
struct Letters(Vec<(&'static str, SqlType)>);

impl Letters {
    fn of(signature: &Signature, arguments: &[ArgumentType<'_>]) -> Option<Self> {
        let mut letters = Self(Vec::new());
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = signature.parameter(index)?;
            if let Some((_, result)) = parameter.split_once(" -> ") {
                letters.unify(result, argument.ty)?;
            } else if let Some(element) = parameter.strip_suffix("[]") {
                letters.unify(
                    element,
                    argument.ty.element().or((*argument.ty == SqlType::Unknown).then_some(argument.ty))?,
                )?;
            } else {
                letters.unify(parameter, argument.ty)?;
            }
        }
        letters.0.iter_mut().for_each(|(letter, ty)| match (*letter, &ty) {
            ("N", SqlType::Unknown) => *ty = SqlType::Double,
            _ => *ty = known(ty),
        });
        Some(letters)
    }

    /// Unifies the type assigned to a letter with another type. Other parameters are ignored.
    fn unify(&mut self, parameter: &'static str, ty: &SqlType) -> Option<()> {
        let unknown = *ty == SqlType::Unknown;
        match parameter {
            "T" | "U" => {}
            "N" if ty.is_numeric() || unknown => {}
            "D" if ty.is_decimal() => {}
            "N" | "D" => return None,
            _ => return Some(()),
        }
        match self.0.iter_mut().find(|(letter, _)| *letter == parameter) {
            Some((_, known)) => *known = common_type(known, ty)?,
            None => self.0.push((parameter, ty.clone())),
        }
        Some(())
    }

    fn resolve(&self, parameter: &str) -> Option<SqlType> {
        if let Some(element) = parameter.strip_suffix("[]") {
            return self.resolve(element).map(SqlType::list_of);
        }
        match parameter {
            "T" | "U" | "N" | "D" => self.0.iter().find(|(letter, _)| *letter == parameter).map(|(_, ty)| ty.clone()),
            _ => SqlType::from_name(parameter, &[]).ok(),
        }
    }
}

/// Returns the type, or VARCHAR for NULL and quoted text whose type nothing determines.
fn known(ty: &SqlType) -> SqlType {
    if *ty == SqlType::Unknown { SqlType::Varchar } else { ty.clone() }
}

/// Returns the entry with this name that matches the arguments best.
pub(super) fn choose<'t, E>(
    entries: impl Iterator<Item = &'t E>,
    signature: impl Fn(&E) -> &'static str,
    wanted: &str,
    arguments: &[ArgumentType<'_>],
) -> std::result::Result<(&'t E, Vec<SqlType>, SqlType), NoFunction> {
    let named: Vec<&E> = entries.filter(|entry| name(signature(entry)) == wanted).collect();
    if named.is_empty() {
        return Err(NoFunction::UnknownName);
    }
    let matching = named.iter().filter_map(|entry| Some((*entry, Signature::of(signature(entry)).matches(arguments)?)));
    let best = matching.min_by_key(|(_, (_, _, casts))| *casts);
    best.map(|(entry, (types, ty, _))| (entry, types, ty))
        .ok_or_else(|| NoFunction::NoMatch { signatures: forms(named.iter().map(|entry| signature(entry))) })
}

/// Returns the parameter types of lambdas, by argument.
pub(super) fn lambda_parameters(
    signatures: impl Iterator<Item = &'static str>,
    wanted: &str,
    arguments: &[ArgumentType<'_>],
) -> Result<Vec<Vec<SqlType>>, NoFunction> {
    let named: Vec<&str> = signatures.filter(|text| name(text) == wanted).collect();
    if named.is_empty() {
        return Err(NoFunction::UnknownName);
    }
    let of_signature = |text: &'static str| {
        let signature = Signature::of(text);
        let letters = Letters::of(&signature, arguments)?;
        let parameters = arguments.iter().enumerate().map(|(index, argument)| {
            let parameter = signature.parameter(index)?;
            match (parameter.split_once(" -> "), argument.lambda_parameters) {
                (Some((input, _)), Some(1)) => letters.resolve(input).map(|ty| vec![ty]),
                (None, None) => Some(Vec::new()),
                _ => None,
            }
        });
        parameters.collect::<Option<Vec<_>>>()
    };
    let found = named.iter().find_map(|text| of_signature(text));
    found.ok_or_else(|| NoFunction::NoMatch { signatures: forms(named.into_iter()) })
}

/// Returns the overloads of a function, for messages.
fn forms(signatures: impl Iterator<Item = &'static str>) -> Vec<String> {
    signatures.map(|text| text.rsplit_once(" -> ").map_or(text, |(form, _)| form).to_owned()).collect()
}
