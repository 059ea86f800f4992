// Which steps a scenario may have, and with which keys: `tests/scenario-steps.json`, the table of all languages.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.mjs';

const table = JSON.parse(readFileSync(join(root, 'tests/scenario-steps.json'), 'utf8'));

/** Refuses unknown steps, unknown keys and missing keys, before the first step runs. */
export function checkScenario(scenario) {
  const { required, optional } = table.scenario;
  checkKeys('the scenario', scenario, required, optional);
  for (const variant of scenario.transports ?? []) {
    if (!isTransport(variant.split(' ')[0])) throw new Error(`there is no transport ${variant}`);
  }
  if (scenario.transports?.length === 0) throw new Error('transports is empty');
  for (const step of scenario.steps) checkStep(step);
}

/** On Linux, the tests run so too. */
const isPortable = process.platform !== 'linux' || process.env.MCPOOL_PORTABLE === '1';

/** The transports of a scenario; `undefined` stands for a scenario without them. Empty if it is not run here. */
export function variants({ transports = [], linux_only: linuxOnly }) {
  if (isPortable && linuxOnly) return [];
  return transports.length > 0 ? transports : [undefined];
}

export const isTransport = (name) => table.transports.includes(name);

/** Whether a step is about no manager. */
export const isWithoutManager = (step) => table.steps[step.do].without_manager === true;

function checkStep(step) {
  const rule = table.steps[step.do];
  if (!rule) throw new Error(`there is no step ${step.do}`);
  const { required = [], optional = [], is_call: isCall } = rule;
  checkKeys(step.do, step, required, [
    ...optional,
    ...(isCall ? table.call_options : []),
    ...table.every_step,
  ]);
  for (const inner of [...(step.step ? [step.step] : []), ...(step.steps ?? [])]) checkStep(inner);
}

function checkKeys(what, given, required, optional) {
  const unknown = Object.keys(given).filter((key) => !required.includes(key) && !optional.includes(key));
  if (unknown.length > 0) throw new Error(`${what}: unknown keys ${unknown}`);
  const missing = required.filter((key) => !(key in given));
  if (missing.length > 0) throw new Error(`${what} needs ${missing}`);
}
