//! The four classic workloads, generated from their published parameters (docs/load/storage.md), so
//! that they run without filebench installed.

/// Their names.
pub(super) const NAMES: &[&str] = &["fileserver", "varmail", "webserver", "webproxy"];

/// The parameters that differ between the workloads.
struct Classic {
    echo: &'static str,
    files: u64,
    width: u64,
    size: &'static str,
    threads: u64,
    thread: &'static str,
    set: &'static str,
    log: bool,
    operations: String,
}

/// The script of a classic workload; `NAME.f` is accepted too.
pub(super) fn text(name: &str) -> Option<String> {
    let classic = match name.strip_suffix(".f").unwrap_or(name) {
        "fileserver" => fileserver(),
        "varmail" => varmail(),
        "webserver" => webserver(),
        "webproxy" => webproxy(),
        _ => return None,
    };
    Some(script(&classic))
}

fn script(classic: &Classic) -> String {
    let Classic { echo, files, width, size, threads, thread, set, log, operations } = classic;
    let process = if *thread == "proxycache" { "proxycache" } else { "filereader" };
    let mut text = format!(
        "set $dir=/tmp\nset $nfiles={files}\nset $meandirwidth={width}\nset $filesize={size}\n\
         set $nthreads={threads}\nset $iosize=1m\nset $meanappendsize=16k\nset $runtime=60\n\
         define fileset name=bigfileset,path=$dir,size=$filesize,entries=$nfiles,\
         dirwidth=$meandirwidth,{set}\n"
    );
    if *log {
        text.push_str(
            "define fileset name=logfiles,path=$dir,size=$filesize,entries=1,\
             dirwidth=$meandirwidth,prealloc\n",
        );
    }
    text.push_str(&format!(
        "define process name={process},instances=1\n{{\n  thread name={thread},memsize=10m,\
         instances=$nthreads\n  {{\n{operations}  }}\n}}\necho \"{echo} personality successfully \
         loaded\"\nrun $runtime\n"
    ));
    text
}

/// Lines of `flowop TYPE name=NAME,REST`.
fn operations(lines: &[(&str, &str, &str)]) -> String {
    lines
        .iter()
        .map(|(kind, name, rest)| format!("    flowop {kind} name={name}{rest}\n"))
        .collect()
}

const SET: &str = ",filesetname=bigfileset";
const OPEN: &str = ",filesetname=bigfileset,fd=1";
const FD: &str = ",fd=1";
const READ: &str = ",fd=1,iosize=$iosize";
const APPEND: &str = ",iosize=$meanappendsize,fd=1";

/// Open, read and close operations with this number.
fn reading(number: usize) -> String {
    operations(&[
        ("openfile", &format!("openfile{number}"), OPEN),
        ("readwholefile", &format!("readfile{number}"), READ),
        ("closefile", &format!("closefile{number}"), FD),
    ])
}

fn fileserver() -> Classic {
    Classic {
        echo: "File-server Version 3.0",
        files: 10_000,
        width: 20,
        size: "cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)",
        threads: 50,
        thread: "filereaderthread",
        set: "prealloc=80",
        log: false,
        operations: operations(&[
            ("createfile", "createfile1", OPEN),
            ("writewholefile", "wrtfile1", ",srcfd=1,fd=1,iosize=$iosize"),
            ("closefile", "closefile1", FD),
            ("openfile", "openfile1", OPEN),
            ("appendfilerand", "appendfilerand1", APPEND),
            ("closefile", "closefile2", FD),
            ("openfile", "openfile2", OPEN),
            ("readwholefile", "readfile1", READ),
            ("closefile", "closefile3", FD),
            ("deletefile", "deletefile1", SET),
            ("statfile", "statfile1", SET),
        ]),
    }
}

fn varmail() -> Classic {
    Classic {
        echo: "Varmail Version 3.0",
        files: 1000,
        width: 1_000_000,
        size: "cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)",
        threads: 16,
        thread: "filereaderthread",
        set: "prealloc=80",
        log: false,
        operations: operations(&[
            ("deletefile", "deletefile1", SET),
            ("createfile", "createfile2", OPEN),
            ("appendfilerand", "appendfilerand2", APPEND),
            ("fsync", "fsyncfile2", FD),
            ("closefile", "closefile2", FD),
            ("openfile", "openfile3", OPEN),
            ("readwholefile", "readfile3", READ),
            ("appendfilerand", "appendfilerand3", APPEND),
            ("fsync", "fsyncfile3", FD),
            ("closefile", "closefile3", FD),
            ("openfile", "openfile4", OPEN),
            ("readwholefile", "readfile4", READ),
            ("closefile", "closefile4", FD),
        ]),
    }
}

fn webserver() -> Classic {
    let log = operations(&[(
        "appendfilerand",
        "appendlog",
        ",filesetname=logfiles,iosize=$meanappendsize,fd=2",
    )]);
    Classic {
        echo: "Web-server Version 3.1",
        files: 1000,
        width: 20,
        size: "cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)",
        threads: 100,
        thread: "filereaderthread",
        set: "prealloc=100,readonly",
        log: true,
        operations: (1..=10).map(reading).collect::<String>() + &log,
    }
}

fn webproxy() -> Classic {
    let first = operations(&[
        ("deletefile", "deletefile1", SET),
        ("createfile", "createfile1", OPEN),
        ("appendfilerand", "appendfilerand1", APPEND),
        ("closefile", "closefile1", FD),
    ]);
    let last = operations(&[("opslimit", "limit", "")]);
    Classic {
        echo: "Web proxy-server Version 3.0",
        files: 10_000,
        width: 1_000_000,
        size: "16k",
        threads: 100,
        thread: "proxycache",
        set: "prealloc=80",
        log: false,
        operations: first + &(2..=6).map(reading).collect::<String>() + &last,
    }
}
