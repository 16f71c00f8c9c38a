//! Label selectors: parsed once, asked often.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::labels::Labels;

/// A selector as it stands in an object's JSON (`metav1.LabelSelector`), unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be present with these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further demands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<Expression>>,
}

/// One entry of `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Expression {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values, for the first two operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

impl LabelSelector {
    /// The same selector that also demands this label (deployment D-13).
    #[must_use]
    pub fn with_label(mut self, key: &str, value: &str) -> Self {
        self.match_labels
            .get_or_insert_default()
            .insert(key.to_owned(), value.to_owned());
        self
    }
}

/// A selector that was checked. Cloning shares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Matches no object: the selector is absent.
    Nothing,
    /// Matches the objects whose labels meet every requirement, sorted by key; all objects if there is none.
    All(Arc<[Requirement]>),
}

/// One demand on the labels of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: Box<str>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Is(Box<str>),
    In(Box<[Box<str>]>),
    NotIn(Box<[Box<str>]>),
    Exists,
    DoesNotExist,
}

/// A selector that the API server would not have accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// An operator outside the four known ones.
    #[error("{0:?} is not a label selector operator")]
    Operator(String),
    /// `In` or `NotIn` without a value, or `Exists` or `DoesNotExist` with one.
    #[error("operator {operator} of label {key:?} has the wrong number of values")]
    Values {
        /// The label's key.
        key: String,
        /// The operator.
        operator: String,
    },
}

impl Selector {
    /// Checks a selector. An absent one matches nothing, an empty one everything (as upstream's
    /// `LabelSelectorAsSelector`).
    pub fn new(json: Option<&LabelSelector>) -> Result<Self, SelectorError> {
        let Some(json) = json else { return Ok(Self::Nothing) };
        let labels = json.match_labels.iter().flatten().map(|(key, value)| {
            Ok(Requirement {
                key: key.as_str().into(),
                test: Test::Is(value.as_str().into()),
            })
        });
        let expressions = json.match_expressions.iter().flatten().map(Requirement::new);
        let mut all = labels.chain(expressions).collect::<Result<Vec<_>, _>>()?;
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self::All(all.into()))
    }

    /// True if an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|requirement| requirement.is_met_by(labels)),
        }
    }

    /// True for `{}`, which matches everything. Where that can only be a mistake, callers refuse it (deployment C-17, D-3).
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.is_empty(),
        }
    }
}

impl Requirement {
    fn new(expression: &Expression) -> Result<Self, SelectorError> {
        let mut values: Vec<Box<str>> = expression
            .values
            .iter()
            .flatten()
            .map(|value| value.as_str().into())
            .collect();
        values.sort_unstable();
        let test = match (expression.operator.as_str(), values.is_empty()) {
            ("In", false) => Test::In(values.into()),
            ("NotIn", false) => Test::NotIn(values.into()),
            ("Exists", true) => Test::Exists,
            ("DoesNotExist", true) => Test::DoesNotExist,
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {
                return Err(SelectorError::Values {
                    key: expression.key.clone(),
                    operator: expression.operator.clone(),
                });
            }
            (other, _) => return Err(SelectorError::Operator(other.to_owned())),
        };
        Ok(Self {
            key: expression.key.as_str().into(),
            test,
        })
    }

    fn is_met_by(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match &self.test {
            Test::Is(wanted) => value == Some(wanted),
            Test::In(wanted) => value.is_some_and(|value| wanted.iter().any(|one| **one == *value)),
            Test::NotIn(unwanted) => value.is_none_or(|value| unwanted.iter().all(|one| **one != *value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
        }
    }
}

/// The form in which the API server prints it, for instance in a scale subresource: `app=web,tier in (a,b),!old`. The
/// selector that matches nothing prints as nothing.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::All(requirements) = self else { return Ok(()) };
        for (position, requirement) in requirements.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            fmt::Display::fmt(requirement, f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.test {
            Test::Is(value) => write!(f, "{key}={value}"),
            Test::In(values) => write!(f, "{key} in ({})", values.join(",")),
            Test::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
            Test::Exists => write!(f, "{key}"),
            Test::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn parse(json: &str) -> Result<Selector, SelectorError> {
        let json: Option<LabelSelector> = serde_json::from_str(json).unwrap();
        Selector::new(json.as_ref())
    }

    fn labels(text: &str) -> Labels {
        text.split_terminator(',')
            .map(|pair| pair.split_once('=').unwrap())
            .collect()
    }

    // proves: deployment/C-11
    #[rstest]
    #[case::absent("null", "app=web", false)]
    #[case::empty("{}", "app=web", true)]
    #[case::empty_parts(r#"{"matchLabels":{},"matchExpressions":[]}"#, "", true)]
    #[case::equal(r#"{"matchLabels":{"app":"web"}}"#, "app=web,tier=front", true)]
    #[case::other_value(r#"{"matchLabels":{"app":"web"}}"#, "app=shop", false)]
    #[case::missing(r#"{"matchLabels":{"app":"web"}}"#, "tier=front", false)]
    #[case::every_label(r#"{"matchLabels":{"app":"web","tier":"front"}}"#, "app=web", false)]
    #[case::empty_value(r#"{"matchLabels":{"app":""}}"#, "tier=front", false)]
    #[case::one_of(
        r#"{"matchExpressions":[{"key":"app","operator":"In","values":["shop","web"]}]}"#,
        "app=web",
        true
    )]
    #[case::none_of(
        r#"{"matchExpressions":[{"key":"app","operator":"In","values":["shop","web"]}]}"#,
        "app=x",
        false
    )]
    #[case::in_needs_the_key(
        r#"{"matchExpressions":[{"key":"app","operator":"In","values":["web"]}]}"#,
        "",
        false
    )]
    #[case::excluded(
        r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":["web"]}]}"#,
        "app=web",
        false
    )]
    #[case::not_excluded(
        r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":["web"]}]}"#,
        "app=x",
        true
    )]
    #[case::not_in_without_the_key(
        r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":["web"]}]}"#,
        "",
        true
    )]
    #[case::exists(r#"{"matchExpressions":[{"key":"app","operator":"Exists"}]}"#, "app=", true)]
    #[case::exists_not(r#"{"matchExpressions":[{"key":"app","operator":"Exists"}]}"#, "tier=app", false)]
    #[case::must_not_exist(r#"{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}"#, "app=", false)]
    #[case::does_not_exist(r#"{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}"#, "", true)]
    #[case::all_must_hold(
        r#"{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"old","operator":"DoesNotExist"}]}"#,
        "app=web,old=1",
        false
    )]
    fn selectors_match_as_on_the_server(#[case] selector: &str, #[case] with: &str, #[case] expected: bool) {
        assert_eq!(parse(selector).unwrap().matches(&labels(with)), expected);
    }

    // proves: deployment/D-3
    #[rstest]
    #[case::operator(
        r#"{"matchExpressions":[{"key":"app","operator":"Like"}]}"#,
        "\"Like\" is not a label selector operator"
    )]
    #[case::lower_case(
        r#"{"matchExpressions":[{"key":"app","operator":"in","values":["a"]}]}"#,
        "\"in\" is not a label selector operator"
    )]
    #[case::no_value(
        r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":[]}]}"#,
        "operator NotIn of label \"app\" has the wrong number of values"
    )]
    #[case::value_too_many(
        r#"{"matchExpressions":[{"key":"app","operator":"Exists","values":["a"]}]}"#,
        "operator Exists of label \"app\" has the wrong number of values"
    )]
    fn malformed_selectors_are_errors(#[case] selector: &str, #[case] expected: &str) {
        assert_eq!(parse(selector).unwrap_err().to_string(), expected);
    }

    // proves: deployment/C-17, deployment/D-3
    #[rstest]
    #[case::absent("null", false)]
    #[case::empty("{}", true)]
    #[case::full(r#"{"matchLabels":{"app":"web"}}"#, false)]
    fn only_the_empty_selector_is_empty(#[case] selector: &str, #[case] expected: bool) {
        assert_eq!(parse(selector).unwrap().is_empty(), expected);
    }

    // proves: deployment/A-7
    #[rstest]
    #[case::absent("null", "")]
    #[case::empty("{}", "")]
    #[case::sorted(r#"{"matchLabels":{"tier":"front","app":"web"}}"#, "app=web,tier=front")]
    #[case::expressions(
        r#"{"matchLabels":{"m":"v"},"matchExpressions":[{"key":"z","operator":"In","values":["b","a"]},
            {"key":"y","operator":"NotIn","values":["d"]},{"key":"b","operator":"Exists"},{"key":"a","operator":"DoesNotExist"}]}"#,
        "!a,b,m=v,y notin (d),z in (a,b)"
    )]
    fn selectors_print_as_on_the_server(#[case] selector: &str, #[case] expected: &str) {
        assert_eq!(parse(selector).unwrap().to_string(), expected);
    }

    // proves: deployment/D-13
    #[test]
    fn a_label_can_be_demanded_as_well() {
        let json = r#"{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"old","operator":"DoesNotExist"}]}"#;
        let selector: LabelSelector = serde_json::from_str(json).unwrap();
        let expected = r#"{"matchLabels":{"app":"web","pod-template-hash":"6b"},"matchExpressions":[{"key":"old","operator":"DoesNotExist"}]}"#;
        assert_eq!(
            serde_json::to_string(&selector.with_label("pod-template-hash", "6b")).unwrap(),
            expected
        );
        let alone = LabelSelector::default().with_label("pod-template-hash", "6b");
        assert_eq!(
            serde_json::to_string(&alone).unwrap(),
            r#"{"matchLabels":{"pod-template-hash":"6b"}}"#
        );
    }

    proptest! {
        #[test]
        fn an_operator_and_its_opposite_never_agree(key in "[ab]", values in prop::collection::vec("[xy]", 1..3), with in "([ab]=[xyz]){0,1}") {
            let expression = |operator: &str, values: Option<Vec<String>>| {
                let expression = Expression { key: key.clone(), operator: operator.to_owned(), values };
                Selector::new(Some(&LabelSelector { match_labels: None, match_expressions: Some(vec![expression]) })).unwrap()
            };
            let with = labels(&with);
            let (inside, outside) = (expression("In", Some(values.clone())), expression("NotIn", Some(values)));
            prop_assert_ne!(inside.matches(&with), outside.matches(&with));
            prop_assert_ne!(expression("Exists", None).matches(&with), expression("DoesNotExist", None).matches(&with));
        }
    }
}
