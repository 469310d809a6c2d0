//! Tables as JSON lines: one object per row, including the table's name.

use std::io::Write;

use serde_json::{Map, Value};

use crate::export::cell::{Cell, Sink};
use crate::export::columns::Shape;
use crate::export::error::Error;

/// Writes the rows of one table as lines.
pub(crate) struct Lines<'w> {
    shape: &'static Shape,
    out: std::rc::Rc<std::cell::RefCell<&'w mut dyn Write>>,
}

impl<'w> Lines<'w> {
    pub(crate) fn new(
        shape: &'static Shape,
        out: std::rc::Rc<std::cell::RefCell<&'w mut dyn Write>>,
    ) -> Self {
        Self { shape, out }
    }
}

impl Sink for Lines<'_> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        let mut object = Map::new();
        object.insert("table".to_owned(), Value::from(self.shape.name));
        for (column, cell) in self.shape.columns.iter().zip(cells) {
            object.insert(column.name.to_owned(), value(cell));
        }
        let line = Value::Object(object).to_string();
        let mut out = self.out.borrow_mut();
        writeln!(out, "{line}").map_err(|cause| Error::io("the output", &cause))
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.out.borrow_mut().flush().map_err(|cause| Error::io("the output", &cause))
    }
}

fn value(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::None => Value::Null,
        Cell::Text(text) => Value::from(*text),
        Cell::Whole(value) => Value::from(*value),
        Cell::Number(value) => Value::from(*value),
        Cell::Flag(value) => Value::from(*value),
    }
}
