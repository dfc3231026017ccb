import { basename, extname } from 'node:path'

/** Programs that run what an argument names. */
const RUNNERS = new Set([
  'npx',
  'uvx',
  'node',
  'bunx',
  'pnpx',
  'bun',
  'deno',
  'python',
  'python3',
  'pnpm',
  'yarn',
  'npm',
  'uv',
])
/** Their arguments in front of that. */
const VERBS = new Set(['run', 'exec', 'dlx', 'x', 'tool'])
/** Names of files and folders that say nothing of what is in them. */
const NAMELESS = new Set(['index', 'main', 'server', 'cli', 'dist', 'build', 'src', 'bin', 'lib', ''])

/**
 * Names a server by the command that starts it, as in a key of `upstreams`: `npx -y @scope/server-memory@1.0` is called
 * `server-memory`, and so is `node server-memory/dist/index.js`.
 */
export function nameOfCommand([program = '', ...args]: readonly string[]): string {
  const isRunner = RUNNERS.has(basename(program, extname(program)))
  const word = isRunner ? args.find(arg => !arg.startsWith('-') && !VERBS.has(arg)) : program
  const steps = (word ?? program)
    .replace(/(?<=.)@[^/\\]*$/, '')
    .split(/[/\\]/)
    .map(named)
    .reverse()
  return steps.find(step => !NAMELESS.has(step)) ?? steps.find(step => step !== '') ?? 'server'
}

function named(step: string): string {
  const name = step
    .replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
  return name
    .replace(/^[^a-z]+/, '')
    .slice(0, 32)
    .replace(/-+$/, '')
}
