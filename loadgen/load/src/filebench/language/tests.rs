//! Parsed scripts, and the round trip through printing.

use proptest::prelude::*;

use super::script::Script;
use super::*;

fn read(text: &str) -> Script {
    parse(text).unwrap_or_else(|mistakes| panic!("{}", format_mistakes("test.f", &mistakes)))
}

fn mistakes(text: &str) -> Vec<String> {
    let reported = parse(text).unwrap_err();
    format_mistakes("x.f", &reported).lines().map(str::to_owned).collect()
}

const PROCESS: &str = "define process name=p,instances=1\n{\n  thread name=t,memsize=10m,useism\n  {\n    \
    flowop createfile name=c1,filesetname=set,fd=1\n    flowop hog name=h, value=$n\n  }\n}\n";

#[test]
fn a_process_has_threads_with_operations() {
    let script = read(PROCESS);
    let Command::Process(list, threads) = &script.statements[0].command else { panic!() };
    assert_eq!((list.len(), threads.len()), (2, 1));
    assert_eq!(threads[0].attributes[2].value, None, "`useism` alone is true");
    let kinds: Vec<&str> = threads[0].operations.iter().map(|op| op.kind.as_str()).collect();
    assert_eq!(kinds, ["createfile", "hog"]);
    assert_eq!(threads[0].operations[0].position, Position { line: 5, column: 5 });
}

#[test]
fn all_commands_are_read() {
    let text = "set mode quit firstdone\nset mode nousestats\neventgen rate=$r\ndebug 1\n\
        enable lathist\nlist fileset\nlist flowop\nversion\ncreate filesets\nsleep 3\n\
        system \"ls $dir\"\necho \"hello\"\nusage \"Usage:\"\ncreate processes\nload other\n\
        define randvar name=$x, type=gamma, mean=16k\nenable multi master=a,client=b\n\
        domultisync value=1\nset $s=\"a text\"\nset $b=true\n\
        set $t=randvar(type=tabular,min=1k,randtable={{80,1k,4k},{20,4k,$top}})\n\
        define flowop name=rw,$set,$n=5 { flowop readwholefile name=r,fd=1 }\npsrun -10 60";
    assert_eq!(read(text).statements.len(), 23);
    assert_eq!(read("psrun 5").statements[0].command, Command::PsRun(Some(5), None));
    assert_eq!(read("quit").statements[0].command, Command::Quit);
}

#[test]
fn text_after_the_run_is_not_read() {
    assert_eq!(read("run 60\n%%% not a script").statements.len(), 1);
}

#[test]
fn keywords_may_be_values() {
    let text =
        "define process name=run { thread name=set { flowop read name=list,target=create } }";
    assert_eq!(read(text).statements.len(), 1);
}

#[test]
fn every_mistake_is_found_in_one_pass_with_position_and_remedy() {
    let text = "set $dir /tmp\n\
        define filset name=a\n\
        define process name=p {\n thread name=t {\n  flowop read name=r,iosiez=4k\n  flowop ,\n \
        flowop write name=w,iosize=\n }\n}\necho hello\nrnu 60\n";
    let reported = mistakes(text);
    let expected = [
        "x.f:1:10: expected `=`, found `/tmp`",
        "x.f:2:8: expected what to define, found `filset`",
        "x.f:5:22: unknown attribute `iosiez`",
        "  hint: did you mean `iosize`?",
        "x.f:6:10: expected the type of an operation, found `,`",
        "x.f:8:2: expected a value, found `}`",
        "x.f:10:6: expected a text, found `hello`",
        "  hint: write echo \"...\"",
        "x.f:11:1: unknown command `rnu`",
        "  hint: did you mean `run`?",
    ];
    for line in expected {
        assert!(reported.iter().any(|reported| reported == line), "no `{line}` in {reported:#?}");
    }
    assert_eq!(reported.len(), 14, "{reported:#?}");
}

#[test]
fn a_block_without_end_is_a_mistake_at_the_end() {
    let reported = mistakes("define process name=p {\n thread name=t {\n  flowop fsync name=f");
    assert_eq!(reported[0], "x.f:3:22: expected `flowop` or `}`, the file ends");
}

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_.:;]{0,12}".prop_filter("words with a meaning of their own", |word| {
        !["true", "false", "randvar", "cvar", "mode", "flowop", "thread"].contains(&word.as_str())
    })
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{1,9}"
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let literal = "[ -~\n]{1,12}".prop_map(Piece::Literal);
    (literal, name(), "[ -~]{1,6}")
        .prop_map(|(first, name, last)| vec![first, Piece::Variable(name), Piece::Literal(last)])
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::Integer),
        any::<bool>().prop_map(Value::Bool),
        word().prop_map(Value::Word),
        pieces().prop_map(Value::Text),
        name().prop_map(Value::Variable),
    ]
}

fn listed_of(names: &'static [&'static str]) -> impl Strategy<Value = Vec<Attribute>> {
    let one = (prop::sample::select(names), prop::option::of(value())).prop_map(|(name, value)| {
        Attribute { name: name.to_owned(), value, position: Position::default() }
    });
    prop::collection::vec(one, 1..5)
}

fn operations() -> impl Strategy<Value = Vec<FlowOp>> {
    let one = (word(), listed_of(attributes::FLOW_OP)).prop_map(|(kind, attributes)| FlowOp {
        kind,
        attributes,
        position: Position::default(),
    });
    prop::collection::vec(one, 1..5)
}

fn command() -> impl Strategy<Value = Command> {
    let thread =
        (listed_of(attributes::THREAD), operations()).prop_map(|(attributes, operations)| {
            ThreadBlock { attributes, operations, position: Position::default() }
        });
    prop_oneof![
        (name(), value()).prop_map(|(name, value)| Command::Set(name, value)),
        (name(), listed_of(attributes::CUSTOM)).prop_map(|(n, l)| Command::SetCustom(n, l)),
        listed_of(attributes::FILE_SET).prop_map(Command::FileSet),
        listed_of(attributes::FILE).prop_map(Command::File),
        (listed_of(attributes::PROCESS), prop::collection::vec(thread, 1..3))
            .prop_map(|(list, threads)| Command::Process(list, threads)),
        (listed_of(attributes::COMPOSITE), operations())
            .prop_map(|(list, inner)| Command::Composite(list, inner)),
        pieces().prop_map(Command::Echo),
        pieces().prop_map(Command::System),
        any::<u64>().prop_map(|seconds| Command::Sleep(Value::Integer(seconds))),
        Just(Command::CreateFiles),
        Just(Command::LatHist),
        Just(Command::ModeQuit(Quit::AllDone)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_printed_script_reads_as_the_same(commands in prop::collection::vec(command(), 0..8)) {
        let position = Position::default();
        let statements = commands.into_iter().map(|command| Statement { command, position }).collect();
        let printed = Script { statements, unknown: Vec::new() }.to_string();
        let again = parse(&printed);
        prop_assert!(again.is_ok(), "{}\n{:?}", printed, again);
        prop_assert_eq!(again.unwrap().to_string(), printed);
    }

    #[test]
    fn no_text_crashes_the_parser(text in "[ -~\n]{0,300}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_token_sequence_crashes_the_parser(
        words in prop::collection::vec(prop::sample::select(vec![
            "set", "define", "process", "thread", "flowop", "name", "=", ",", "{", "}", "$x", "1k",
            "run", "fileset", "randvar", "(", ")", "\"t\"", "psrun", "-1", "mode", "quit",
        ]), 0..60)
    ) {
        let _ = parse(&words.join(" "));
    }
}
