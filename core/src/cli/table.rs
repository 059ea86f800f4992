//! Owns text tables: columns fit their content, empty columns are left out. If the terminal is too narrow, the last
//! column is cut first, then the widest of the others.

use super::terminal::{Paint, Tint, cut, tame, width};

/// The widest padding of a column, so that one long cell does not move all others.
const MAX_PADDING: usize = 80;
const GAP: &str = "  ";
/// The last column is not cut below this while others can be cut.
const MIN_LAST_WIDTH: usize = 16;
/// No column is cut below this, even if lines then wrap.
const MIN_WIDTH: usize = 4;

pub(super) struct Cell {
    text: String,
    tint: Tint,
}

impl Cell {
    /// Collapses the text to one line.
    pub(super) fn new(tint: Tint, text: impl AsRef<str>) -> Self {
        let words: Vec<&str> = text.as_ref().split_whitespace().collect();
        Cell { text: tame(&words.join(" ")), tint }
    }

    pub(super) fn plain(text: impl ToString) -> Self {
        Cell::new(Tint::Plain, text.to_string())
    }

    /// Empty for `None`.
    pub(super) fn maybe(text: Option<impl ToString>) -> Self {
        Cell::plain(text.map_or_else(String::new, |text| text.to_string()))
    }

    fn width(&self) -> usize {
        width(&self.text)
    }
}

pub(super) struct Table {
    indent: String,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(indent: &str, heads: &[&str], mut rows: Vec<Vec<Cell>>) -> Self {
        let is_used: Vec<bool> = (0..heads.len())
            .map(|column| rows.iter().any(|row| !row[column].text.is_empty()))
            .collect();
        rows.insert(0, heads.iter().map(|head| Cell::new(Tint::Dim, head)).collect());
        for row in &mut rows {
            let mut is_used = is_used.iter();
            row.retain(|_| *is_used.next().unwrap_or(&true));
        }
        Table { indent: indent.to_owned(), rows }
    }

    pub(super) fn lines(mut self, columns: Option<usize>, paint: Paint) -> Vec<String> {
        let count = self.rows[0].len();
        let mut widths: Vec<usize> = (0..count)
            .map(|column| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0))
            .collect();
        let Some(last) = count.checked_sub(1) else { return Vec::new() };
        if let Some(columns) = columns {
            let room = columns.saturating_sub(self.indent.len() + last * GAP.len());
            squeeze(&mut widths, room);
            for row in &mut self.rows {
                row.iter_mut().zip(&widths).for_each(|(cell, width)| cut(&mut cell.text, *width));
            }
        }
        // If nothing is cut, one very long cell must not move the other columns.
        widths.iter_mut().for_each(|width| *width = (*width).min(MAX_PADDING));
        let line = |row: &Vec<Cell>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
                let padding = if at == last { 0 } else { width.saturating_sub(cell.width()) };
                paint.paint(cell.tint, &cell.text) + &" ".repeat(padding)
            });
            let line = format!("{}{}", self.indent, cells.collect::<Vec<_>>().join(GAP));
            line.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// Shrinks the columns to `room`, the last one first.
fn squeeze(widths: &mut [usize], room: usize) {
    let Some(last) = widths.len().checked_sub(1) else { return };
    let over = |widths: &[usize]| widths.iter().sum::<usize>().saturating_sub(room);
    let spare = widths[last].saturating_sub(MIN_LAST_WIDTH);
    widths[last] -= spare.min(over(widths));
    while over(widths) > 0 {
        let Some(widest) = (0..widths.len()).rev().max_by_key(|&at| widths[at]) else { return };
        if widths[widest] <= MIN_WIDTH {
            return;
        }
        widths[widest] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(columns: Option<usize>, rows: &[[&str; 3]]) -> Vec<String> {
        let rows = rows.iter().map(|row| row.iter().map(Cell::plain).collect()).collect();
        Table::new(" ", &["A", "PID", "TEXT"], rows).lines(columns, Paint::Off)
    }

    #[test]
    fn columns_fit_their_content_and_empty_ones_are_left_out() {
        assert_eq!(
            lines(None, &[["long", "", "x"], ["b", "", ""]]),
            [" A     TEXT", " long  x", " b"]
        );
    }

    #[test]
    fn the_last_column_is_cut_to_the_terminal() {
        let printed = lines(Some(30), &[["a", "7", "one two three four five six"]]);
        assert_eq!(printed[1], " a  7    one two three four f…");
        assert_eq!(printed[1].chars().count(), 30);
    }

    #[test]
    fn other_columns_are_cut_when_the_last_one_is_short_already() {
        let printed =
            lines(Some(40), &[["a-very-long-name-of-a-server-in-a-file", "7", "one two"]]);
        assert_eq!(printed[1], " a-very-long-name-of-a-se…  7    one two");
        assert!(printed.iter().all(|line| width(line) <= 40), "{printed:?}");
    }

    #[test]
    fn an_endless_cell_does_not_push_others_away() {
        let endless = "x".repeat(10_000);
        let printed = lines(None, &[[&endless, "1", "x"], ["ab", "2", "y"]]);
        assert_eq!(printed[1], format!(" {endless}  1    x"));
        assert!(width(&printed[2]) < 100, "{printed:?}");
    }

    #[test]
    fn wide_letters_take_two_columns() {
        let printed = lines(None, &[["日本", "1", "x"], ["ab", "2", "y"]]);
        assert_eq!(printed[1..], [" 日本  1    x", " ab    2    y"]);
    }

    #[test]
    fn a_cell_is_one_line_without_control_characters() {
        assert_eq!(Cell::plain("a\n b\t\u{1b}[2Jc\u{202e}").text, "a b \u{fffd}[2Jc\u{fffd}");
    }
}
