//! Layout of keys and records.

use super::*;

fn key(number: u64, padding: usize, ordered: bool) -> String {
    let mut key = b"left over".to_vec();
    KeyFormat { padding, ordered }.write(number, &mut key);
    String::from_utf8(key).unwrap()
}

fn shape(fields: u64, length: u64, integrity: bool) -> Shape {
    Shape::new("field", fields, Lengths::Constant(length), integrity)
}

#[test]
fn keys_are_formatted_as_in_ycsb() {
    assert_eq!(key(0, 1, false), "user6284781860667377211");
    assert_eq!(key(2, 1, false), "user1820151046732198393");
    assert_eq!(key(0, 1, true), "user0");
    assert_eq!(key(42, 6, true), "user000042");
    assert_eq!(key(1_234_567, 3, true), "user1234567");
}

#[test]
fn a_record_has_the_layout_of_the_java_binding() {
    let mut record = Vec::new();
    shape(10, 100, false).write(b"user1", &mut Random::new(1, 0), &mut record);
    assert_eq!(record.len(), 1140);
    assert_eq!(&record[..14], b"\0\0\0\x06field1\0\0\0\x64");
    let names: Vec<&[u8]> = fields(&record).map(|cell| cell.unwrap().name).collect();
    let order = [1, 0, 7, 6, 9, 8, 3, 2, 5, 4].map(|field| format!("field{field}"));
    assert!(names.iter().zip(&order).all(|(name, order)| *name == order.as_bytes()), "{order:?}");
}

#[test]
fn an_update_changes_one_field_in_place() {
    let mut record = Vec::new();
    shape(3, 5, false).write(b"user1", &mut Random::new(1, 0), &mut record);
    let mut changed = Vec::new();
    replace(&record, &[(b"field2", b"new")], &mut changed).unwrap();
    let (old, new): (Vec<_>, Vec<_>) =
        (fields(&record).flatten().collect(), fields(&changed).flatten().collect());
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(old.name, new.name);
        let expected = if old.name == b"field2" { b"new".as_slice() } else { old.value };
        assert_eq!(new.value, expected);
    }
    replace(&record, &[(b"other", b"1")], &mut changed).unwrap();
    assert_eq!(fields(&changed).count(), 4);
}

#[test]
fn a_truncated_record_is_malformed_without_a_panic() {
    let mut record = Vec::new();
    shape(2, 3, false).write(b"user1", &mut Random::new(1, 0), &mut record);
    let whole = fields(&record).next().unwrap().unwrap();
    let first = 8 + whole.name.len() + whole.value.len();
    for cut in (1..record.len()).filter(|cut| *cut != first) {
        assert!(fields(&record[..cut]).any(|cell| cell == Err(Malformed)), "cut at {cut}");
    }
}

#[test]
fn verifiable_values_are_derived_from_key_and_field() {
    // Computed with the code of CoreWorkload.buildDeterministicValue on Java 17.
    let mut value = Vec::new();
    integrity(b"user1", "field0", 40, &mut value);
    assert_eq!(String::from_utf8_lossy(&value), "user1:field0:-1268391216:957204686:-1707");
}

#[test]
fn a_changed_byte_is_detected() {
    let shape = shape(4, 30, true);
    let (mut record, mut scratch) = (Vec::new(), Vec::new());
    shape.write(b"user1", &mut Random::new(1, 0), &mut record);
    assert!(shape.is_intact(b"user1", &record, &mut scratch));
    assert!(!shape.is_intact(b"user2", &record, &mut scratch));
    let last = record.len() - 1;
    record[last] ^= 1;
    assert!(!shape.is_intact(b"user1", &record, &mut scratch));
    assert!(!shape.is_intact(b"user1", &[], &mut scratch));
}
