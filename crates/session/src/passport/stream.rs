//! The documents in what a guest prints, one after the other, as they arrive.

use assay_conformance::Document;

use super::results::MAX_DOCUMENT;

/// Takes output of a guest and returns whole documents.
#[derive(Debug, Default)]
pub(super) struct DocumentStream {
    begun: Vec<u8>,
    is_broken: bool,
}

impl DocumentStream {
    /// The documents that end in these bytes. After an error nothing more is read: the guest prints something
    /// else.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Document>, String> {
        if self.is_broken {
            return Ok(Vec::new());
        }
        self.begun.extend_from_slice(bytes);
        let documents = self.whole_ones();
        self.is_broken = documents.is_err();
        documents
    }

    fn whole_ones(&mut self) -> Result<Vec<Document>, String> {
        let mut documents = Vec::new();
        let mut stream = serde_json::Deserializer::from_slice(&self.begun).into_iter::<Document>();
        let mut end = 0;
        while let Some(next) = stream.next() {
            match next {
                Ok(document) => {
                    documents.push(document);
                    end = stream.byte_offset();
                }
                Err(cause) if cause.is_eof() => break,
                Err(cause) => return Err(format!("the guest printed no result: {cause}")),
            }
        }
        self.begun.drain(..end);
        if self.begun.len() > MAX_DOCUMENT {
            return Err(format!("the guest printed a result of more than {MAX_DOCUMENT} bytes"));
        }
        Ok(documents)
    }
}

#[cfg(test)]
mod tests {
    use assay_conformance::Verdict;

    use super::*;
    use crate::passport::fake::{document, record};

    #[test]
    fn documents_arrive_whole_however_the_output_is_cut() {
        let sent: Vec<Document> =
            ["a", "b", "c"].map(|name| document("6.1.0", vec![record(name, Verdict::Kept)])).into();
        let text: String =
            sent.iter().map(|one| serde_json::to_string_pretty(one).unwrap() + "\n").collect();
        for size in [1, 7, 100, text.len()] {
            let mut stream = DocumentStream::default();
            let chunks = text.as_bytes().chunks(size);
            let got: Vec<Document> = chunks.flat_map(|chunk| stream.push(chunk).unwrap()).collect();
            assert_eq!(got, sent, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_result_is_refused_once() {
        let mut stream = DocumentStream::default();
        assert!(stream.push(b"Segmentation fault\n").is_err());
        assert_eq!(stream.push(b"{}").unwrap(), []);
        assert!(DocumentStream::default().push(b"{\"schema\":1}").is_err());
        let mut long = DocumentStream::default();
        assert!(long.push(&[b' '; 100]).is_ok());
        let endless = [b"{\"kernel\":\"".as_slice(), &vec![b'x'; MAX_DOCUMENT]].concat();
        assert!(long.push(&endless).is_err());
    }
}
