/** What `tsc --noEmit` and `eslint .` say, of one program: apart, each would work out the types of everything. */
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
const settings = ts.getParsedCommandLineOfConfigFile(`${root}tsconfig.json`, {}, host);
const program = ts.createProgram({
  rootNames: settings.fileNames,
  options: settings.options,
  configFileParsingDiagnostics: ts.getConfigFileParsingDiagnostics(settings),
  host: ts.createCompilerHost(settings.options, true),
});
ts.getPreEmitDiagnostics(program).forEach(fail);

const typed = { languageOptions: { parserOptions: { projectService: false, programs: [program] } } };
const eslint = new ESLint({ cwd: root, overrideConfig: { files: ["src/**/*.{ts,tsx}", "vite*.config.ts"], ...typed } });
const results = await eslint.lintFiles(["."]);
process.stdout.write((await eslint.loadFormatter()).format(results));
if (results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0)) process.exitCode = 1;

function fail(fault) {
  process.stdout.write(ts.formatDiagnostic(fault, { ...ts.sys, getCanonicalFileName: (name) => name, getNewLine: () => "\n" }));
  process.exitCode = 1;
}
