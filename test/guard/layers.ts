/** The parts of the program, with what each may import besides itself; a part is the first one whose path fits. */
export const PARTS: readonly { part: string; path: RegExp; may: readonly string[] }[] = [
  { part: 'config types', path: /^src\/config\/config\.gen\.ts$/, may: [] },
  { part: 'util', path: /^src\/util\//, may: [] },
  { part: 'protocol', path: /^src\/protocol\//, may: ['util', 'errors'] },
  { part: 'errors', path: /^src\/(errors|error-table(-\w+)?)\.ts$/, may: ['util', 'protocol'] },
  {
    part: 'ports',
    path: /^src\/core\/(ports|http-ports|plugin-ports|catalog-entry|principal|upstream-memory|outcome)\.ts$/,
    may: ['util', 'protocol', 'errors', 'config types'],
  },
  { part: 'config', path: /^src\/config\//, may: ['util', 'errors', 'config types'] },
  { part: 'hooks', path: /^src\/hooks\//, may: ['util', 'protocol', 'errors', 'ports', 'config types'] },
  {
    part: 'plugin',
    path: /^src\/plugin\.ts$/,
    may: ['util', 'protocol', 'errors', 'ports', 'hooks', 'config types'],
  },
  {
    part: 'core',
    path: /^src\/core\//,
    may: ['util', 'protocol', 'errors', 'ports', 'hooks', 'config types'],
  },
  {
    part: 'gateway api',
    path: /^src\/gateway-api\.ts$/,
    may: ['util', 'protocol', 'errors', 'ports', 'hooks', 'plugin', 'config', 'config types'],
  },
  { part: 'store', path: /^src\/store\//, may: ['util', 'errors', 'ports'] },
  {
    part: 'transport',
    path: /^src\/transport\//,
    may: ['util', 'protocol', 'errors', 'ports', 'plugin', 'gateway api', 'config types'],
  },
  { part: 'plugins', path: /^plugins\//, may: ['plugin'] },
  {
    part: 'plugin-host',
    path: /^src\/plugin-host\//,
    may: ['util', 'protocol', 'errors', 'ports', 'hooks', 'plugin', 'core', 'config', 'config types'],
  },
  {
    part: 'gateway',
    path: /^src\/[\w-]+\.ts$/,
    may: [
      'util',
      'protocol',
      'errors',
      'ports',
      'hooks',
      'plugin',
      'core',
      'config',
      'config types',
      'store',
      'transport',
      'plugins',
      'plugin-host',
      'gateway api',
    ],
  },
  {
    part: 'control',
    path: /^src\/control\//,
    may: ['util', 'protocol', 'errors', 'ports', 'transport', 'gateway api', 'config types'],
  },
  {
    part: 'workers',
    path: /^src\/workers\//,
    may: [
      'util',
      'protocol',
      'errors',
      'ports',
      'hooks',
      'plugin',
      'core',
      'config',
      'config types',
      'store',
      'transport',
      'gateway api',
      'gateway',
    ],
  },
  {
    part: 'testing',
    path: /^src\/testing\//,
    may: [
      'util',
      'protocol',
      'errors',
      'ports',
      'plugin',
      'config',
      'config types',
      'transport',
      'gateway api',
      'gateway',
    ],
  },
  {
    part: 'cli',
    path: /^src\/cli\//,
    may: [
      'util',
      'protocol',
      'errors',
      'ports',
      'hooks',
      'plugin',
      'core',
      'config',
      'config types',
      'plugin-host',
      'gateway api',
      'gateway',
      'workers',
      'control',
    ],
  },
]

/** A vendor, and the only places that may load it; its types may be named anywhere. */
export const HOMES: readonly { vendor: RegExp; homes: RegExp }[] = [
  { vendor: /^tapable$/, homes: /^src\/hooks\// },
  { vendor: /^(yaml|cosmiconfig)(\/|$)/, homes: /^src\/config\// },
  { vendor: /^ajv(\/|$)/, homes: /^src\/(config|plugin-host)\// },
  {
    vendor: /^(@modelcontextprotocol\/|ws$|eventsource-parser(\/|$))/,
    homes: /^src\/(transport|testing)\//,
  },
  { vendor: /^undici$/, homes: /^src\/testing\// },
  { vendor: /^jose(\/|$)/, homes: /^plugins\/auth\// },
  { vendor: /^re2js$/, homes: /^plugins\/agents\// },
  { vendor: /^@oclif\//, homes: /^src\/cli\// },
]

/** Something of the process that is global, and the only places that may touch it. */
export const GLOBALS: readonly { access: RegExp; homes: RegExp }[] = [
  { access: /^process\.(env|cwd|argv|chdir)$/, homes: /^src\/(cli\/|config\/interpolate\.ts$)/ },
  { access: /^(process\.stdout|console\.\w+)$/, homes: /^src\/(cli\/|transport\/listen-stdio\.ts$)/ },
]

/** The part a file belongs to. */
export function partOf(file: string): string | undefined {
  return PARTS.find(({ path }) => path.test(file))?.part
}
