/** Prints the gzipped size of the built page's scripts and styles, and fails when it passes the limit. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

/** In bytes; the peer's page has 323 kB. */
const LIMIT = 152_500;

const folder = new URL("../dist/assets/", import.meta.url);
const sizes = readdirSync(folder)
  .filter((name) => /\.(?:js|css)$/.test(name))
  .map((name) => ({ name, bytes: gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length }));
const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
sizes.forEach(({ name, bytes }) => process.stdout.write(`${name}\t${bytes}\n`));
process.stdout.write(`total\t${total}\t${(total / 1000).toFixed(1)} kB\n`);
if (total > LIMIT) {
  process.stderr.write(`The page is larger than ${LIMIT} bytes.\n`);
  process.exitCode = 1;
}
