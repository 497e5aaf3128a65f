//! `--activate` and `--deactivate`: rules in the order in which they are given.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, builder::ValueParser};
use toolyard::{ActivationMode, ActivationRule, ToolPattern};

/// The rules of the command line, which come before those of the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActivationOptions {
    pub(crate) rules: Vec<ActivationRule>,
}

const MODES: [(&str, ActivationMode, &str); 2] = [
    (
        "activate",
        ActivationMode::Activate,
        "Switch tools on whose name fits; the first rule that fits decides",
    ),
    ("deactivate", ActivationMode::Deactivate, "Switch tools off whose name fits"),
];

impl Args for ActivationOptions {
    fn augment_args(command: Command) -> Command {
        MODES.into_iter().fold(command, |command, (name, _, help)| {
            let pattern = ValueParser::from(|text: &str| ToolPattern::new(text));
            let arg = Arg::new(name).long(name).value_name("GLOB").help(help);
            command.arg(arg.action(ArgAction::Append).value_parser(pattern))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ActivationOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut rules = Vec::new();
        for (name, mode, _) in MODES {
            let places = matches.indices_of(name).into_iter().flatten();
            let patterns = matches.get_many::<ToolPattern>(name).into_iter().flatten().cloned();
            rules.extend(places.zip(patterns.map(|pattern| ActivationRule { mode, pattern })));
        }
        rules.sort_by_key(|(place, _)| *place);
        Ok(Self { rules: rules.into_iter().map(|(_, rule)| rule).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::{Cli, Verb};

    fn parse(options: &[&str]) -> Result<Vec<(ActivationMode, String)>, Error> {
        let cli = Cli::try_parse_from([&["toolyard", "tools"], options].concat())?;
        let Verb::Tools(tools) = cli.verb else { panic!("another verb") };
        let rules = tools.engine.activation.rules.into_iter();
        Ok(rules.map(|rule| (rule.mode, rule.pattern.to_string())).collect())
    }

    #[test]
    fn rules_keep_the_order_of_the_command_line_over_both_options() {
        let rules = parse(&["--deactivate", "a*", "--activate", "b", "--deactivate", "c"]).unwrap();
        let (on, off) = (ActivationMode::Activate, ActivationMode::Deactivate);
        assert_eq!(rules, [(off, "a*".into()), (on, "b".into()), (off, "c".into())]);
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_refused() {
        let error = parse(&["--activate", "["]).unwrap_err().to_string();
        assert!(error.contains("pattern \"[\" cannot be read"), "{error}");
    }
}
