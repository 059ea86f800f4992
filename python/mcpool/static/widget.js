// The live table: Python sends the tables, this counts the clocks on and keeps what the reader has opened.
import { mcpoolSearch } from './search.js';

function mcpoolSpan(ms) {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  const units = [
    [86400, 3600, 'd', 'h'],
    [3600, 60, 'h', 'min'],
    [60, 1, 'min', 's'],
  ];
  for (const [unit, parts, name, part] of units) {
    if (seconds >= unit) {
      return `${Math.floor(seconds / unit)} ${name} ${Math.floor((seconds % unit) / parts)} ${part}`;
    }
  }
  return `${seconds} s`;
}

function render({ model, el }) {
  const root = document.createElement('div');
  const servers = document.createElement('div');
  const ended = document.createElement('p');
  const folded = document.createElement('details');
  const summary = document.createElement('summary');
  const tools = document.createElement('div');
  let skew = 0;
  root.className = 'mcpool mathjax_ignore tex2jax_ignore';
  tools.className = 'mcpool-folded';
  ended.className = 'mcpool-dim';
  ended.textContent = 'The manager is closed.';
  folded.append(summary, tools);
  root.append(servers, ended, folded);
  el.append(root);

  const clocks = () => {
    const now = Date.now() - skew;
    for (const cell of servers.querySelectorAll('[data-since]')) {
      cell.textContent = mcpoolSpan(now - Number(cell.dataset.since));
    }
    for (const cell of servers.querySelectorAll('[data-due]')) {
      cell.textContent = mcpoolSpan(Number(cell.dataset.due) - now + 999);
    }
  };
  const drawServers = () => {
    // The kernel may live on a machine with another clock.
    skew = Date.now() - model.get('now');
    servers.innerHTML = model.get('servers');
    clocks();
  };
  const drawTools = () => {
    const box = tools.querySelector('input[type=search]');
    const focused = box !== null && box === box.getRootNode().activeElement;
    const nameOf = (row) => row.cells[0].textContent;
    const opened = new Set(Array.from(tools.querySelectorAll('tbody tr:has(details[open])'), nameOf));
    tools.innerHTML = model.get('tools');
    summary.textContent = tools.querySelector('caption').textContent;
    for (const row of tools.querySelectorAll('tbody tr')) {
      // A table that has grown may show this row without its schema.
      const details = opened.has(nameOf(row)) ? row.querySelector('details') : null;
      if (details) details.open = true;
    }
    const fresh = mcpoolSearch(tools, box ? box.value : '');
    if (focused && fresh) fresh.focus();
  };
  const drawEnd = () => {
    ended.hidden = model.get('live');
  };
  drawServers();
  drawTools();
  drawEnd();
  model.on('change:servers', drawServers);
  model.on('change:tools', drawTools);
  model.on('change:live', drawEnd);
  const ticking = setInterval(clocks, 1000);
  return () => {
    clearInterval(ticking);
    model.off('change:servers', drawServers);
    model.off('change:tools', drawTools);
    model.off('change:live', drawEnd);
  };
}

export default { render };
