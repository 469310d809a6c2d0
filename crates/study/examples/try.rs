#![allow(warnings)]
fn main() {
    for p in std::env::args().skip(1) {
        let t = std::fs::read_to_string(&p).unwrap();
        let s = std::time::Instant::now();
        let (st, f) = assay_study::parse("x", &t, &|p| {
            if p == "empty.fio" {
                Ok("[global]\n".into())
            } else if p == "job.fio" {
                Ok("[a]\n".into())
            } else {
                Err("no such file".into())
            }
        });
        println!("{p}: study={} {:?}", st.is_some(), s.elapsed());
        let mut n = String::new();
        let r = assay_diagnostic::render(&f, p.rsplit('/').next().unwrap(), &t, false);
        for l in r.lines() {
            let l = if l.len() > 300 { &l[..300] } else { l };
            println!("{l}");
        }
    }
}
