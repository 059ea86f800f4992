// A search box over the table of `place`: a row stays while it has every word. Without scripts the table is whole.
export function mcpoolSearch(place, asked = '') {
  if (place.querySelector('input[type=search]')) return null;
  const rows = Array.from(place.querySelectorAll('.mcpool-table > tbody > tr'));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const bar = document.createElement('div');
  const label = document.createElement('label');
  const box = document.createElement('input');
  const tally = document.createElement('span');
  bar.className = 'mcpool-search';
  label.textContent = 'Search ';
  box.type = 'search';
  box.placeholder = 'name, server, words';
  box.value = asked;
  tally.className = 'mcpool-dim';
  tally.setAttribute('role', 'status');
  label.append(box);
  bar.append(label, tally);
  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = !words.every((word) => texts[index].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    tally.textContent = words.length ? `${shown} of ${rows.length}` : '';
  };
  box.addEventListener('input', filter);
  // A notebook takes single letters for commands.
  box.addEventListener('keydown', (event) => event.stopPropagation());
  place.prepend(bar);
  filter();
  return box;
}
