/** Prints the gzipped size of the built page's scripts and styles, in bytes and kB. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const folder = new URL("../dist/assets/", import.meta.url);
const sizes = readdirSync(folder)
  .filter((name) => /\.(?:js|css)$/.test(name))
  .map((name) => ({ name, bytes: gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length }));
const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
sizes.forEach(({ name, bytes }) => process.stdout.write(`${name}\t${bytes}\n`));
process.stdout.write(`total\t${total}\t${(total / 1000).toFixed(1)} kB\n`);
