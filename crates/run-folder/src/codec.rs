//! Decompresses pages that Polars, pandas or DuckDB wrote, by decoders in Rust, and never beyond the bytes that a page
//! may have.

use parquet::basic::Compression;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// How pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    Snappy,
    Zstd,
}

impl Codec {
    /// The codec of a column; `None` if it is not compressed, or the name of one that is not read.
    pub(crate) fn new(compression: Compression) -> Result<Option<Self>, String> {
        match compression {
            Compression::UNCOMPRESSED => Ok(None),
            Compression::SNAPPY => Ok(Some(Self::Snappy)),
            Compression::ZSTD(_) => Ok(Some(Self::Zstd)),
            // Without its level, which a file does not tell.
            other => Err(other.to_string().split('(').next().unwrap_or_default().to_owned()),
        }
    }

    /// The bytes of a page; an error if they are more than `most`.
    pub(crate) fn decompress(self, bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
        // A page that has only nulls may have none.
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        match self {
            Self::Snappy => snappy(bytes, most),
            Self::Zstd => zstd(bytes, most),
        }
    }
}

fn snappy(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let size = snap::raw::decompress_len(bytes).map_err(|cause| cause.to_string())?;
    if size > most {
        return Err(too_large(most));
    }
    snap::raw::Decoder::new().decompress_vec(bytes).map_err(|cause| cause.to_string())
}

/// One frame. What its header says about its size is not trusted: blocks are decoded until there are too many bytes.
fn zstd(mut bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let mut frame = FrameDecoder::new();
    frame.init(&mut bytes).map_err(|cause| cause.to_string())?;
    let enough = BlockDecodingStrategy::UptoBytes(most.saturating_add(1));
    let is_whole = frame.decode_blocks(&mut bytes, enough).map_err(|cause| cause.to_string())?;
    let whole = if is_whole { frame.collect().unwrap_or_default() } else { Vec::new() };
    match is_whole && whole.len() <= most {
        true if bytes.is_empty() => Ok(whole),
        true => Err(format!("{} bytes follow a compressed page", bytes.len())),
        false => Err(too_large(most)),
    }
}

/// Why a page is refused, compressed or not.
pub(crate) fn too_large(most: usize) -> String {
    format!("a page has more than the {most} bytes that its rows can have when it is decompressed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of blocks of 128 KiB, each a byte that repeats (RFC 8878), which a writer would not make shorter.
    fn zeros(blocks: usize) -> Vec<u8> {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
        for block in 1..=blocks {
            let header = (1_u32 << 20) | (1 << 1) | u32::from(block == blocks);
            frame.extend(&header.to_le_bytes()[..3]);
            frame.push(0);
        }
        frame
    }

    #[test]
    fn a_page_may_have_exactly_its_bytes() {
        let frame = zeros(3);
        let size = 3 << 17;
        assert_eq!(Codec::Zstd.decompress(&frame, size).unwrap(), vec![0; size]);
        assert!(Codec::Zstd.decompress(&frame, size - 1).unwrap_err().contains("more than the"));
        let small = snap::raw::Encoder::new().compress_vec(&[7; 1000]).unwrap();
        assert_eq!(Codec::Snappy.decompress(&small, 1000).unwrap(), [7; 1000]);
        assert!(Codec::Snappy.decompress(&small, 999).unwrap_err().contains("more than the"));
        assert!(Codec::Zstd.decompress(&[], 0).unwrap().is_empty());
    }

    /// 64 KiB that are 2 GiB, and five bytes that claim 4 GiB.
    #[test]
    fn a_bomb_is_refused_when_it_has_grown_to_what_a_page_may_have() {
        let bomb = zeros(1 << 14);
        assert!(bomb.len() < 1 << 17);
        assert!(Codec::Zstd.decompress(&bomb, 1 << 20).unwrap_err().contains("more than the"));
        let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x00];
        assert!(Codec::Snappy.decompress(&claim, 1 << 20).unwrap_err().contains("more than the"));
    }

    #[test]
    fn a_damaged_page_is_an_error() {
        let mut frame = zeros(1);
        frame.push(0);
        assert!(Codec::Zstd.decompress(&frame, 1 << 20).unwrap_err().contains("1 bytes follow"));
        frame.truncate(8);
        assert!(Codec::Zstd.decompress(&frame, 1 << 20).is_err());
        assert!(Codec::Snappy.decompress(&[9, 0], 1 << 20).is_err());
    }
}
