import { readFileSync } from 'node:fs'
import { listPackages, listRuntimePackages } from './release/runtime-packages.ts'

/** Reason for each direct dependency. */
const REASONS: Readonly<Record<string, string>> = {
  '@jitl/quickjs-wasmfile-release-sync': 'runs code of `surface: code` in a sandbox',
  '@marcbachmann/cel-js': 'conditions of `policy`',
  '@modelcontextprotocol/client': 'OAuth logins to servers',
  ajv: 'validates the configuration and tool arguments',
  cosmiconfig: 'finds gateway.yaml',
  'eventsource-parser': 'event streams of servers',
  jmespath: 'selects parts of results (`shape`)',
  jose: 'JSON Web Tokens',
  'jsonc-parser': 'edits the settings of clients, with their comments',
  minisearch: 'searches tools (`surface`)',
  oauth4webapi: 'token requests',
  'quickjs-emscripten-core': 'interface of the sandbox',
  re2js: 'regular expressions of the configuration, in linear time',
  'smol-toml': 'settings of clients in TOML',
  tapable: 'hooks',
  undici: 'HTTP requests to servers',
  ws: 'WebSocket listeners and servers',
  yaml: 'reads and edits gateway.yaml',
}

/** Creates the table of packages that `npm install tapgate` installs. */
export function dependenciesReference(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const { dependencies } = JSON.parse(text) as { dependencies: Readonly<Record<string, string>> }
  const packages = listRuntimePackages()
  const rows = packages.map(({ name, version, license }) => {
    const reason = name in dependencies ? REASONS[name] : 'needed by another package'
    if (reason === undefined) throw new Error(`scripts/dependencies-reference.ts has no reason for ${name}`)
    return `| \`${name}\` | ${version} | ${license} | ${reason} |`
  })
  const scripts = packages.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name)
  if (scripts.length > 0) throw new Error(`packages with install scripts: ${scripts.join(', ')}`)
  const optional = listPackages().filter(({ name }) => /^@(redis|opentelemetry)\/(client|api)$/.test(name))
  return `# Packages

\`npm install tapgate\` installs these ${packages.length} packages. None has an install script. Others, such as oclif, are
bundled: \`dist/LICENSES.txt\` has their licenses. ${optional.map(({ name }) => `\`${name}\``).join(' and ')} are
optional, for \`cluster\` and \`tracing\`. Each release has a bill of materials (CycloneDX).

| package | version | license | reason |
| ------- | ------- | ------- | ------ |
${rows.join('\n')}
`
}
