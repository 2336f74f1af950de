// Loaded into a program with `--require`: its clock is LATER_MS ahead, and where BOOTED_AT_MS is set its machine was started then.
const os = require('node:os');

const SystemDate = Date;
const laterMs = Number(process.env.LATER_MS ?? 0);
const now = () => SystemDate.now() + laterMs;
globalThis.Date = class extends SystemDate {
  constructor(...parts) {
    super(...(parts.length === 0 ? [now()] : parts));
  }
  static now() {
    return now();
  }
};
const { uptime } = os;
const bootedAtMs = process.env.BOOTED_AT_MS;
os.uptime = () => (bootedAtMs === undefined ? uptime() + laterMs / 1000 : (now() - Number(bootedAtMs)) / 1000);
