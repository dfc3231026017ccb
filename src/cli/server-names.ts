import { basename, extname } from 'node:path'

/** Programs that run a package or script argument. */
const RUNNERS = new Set('npx uvx node bunx pnpx bun deno python python3 pnpm yarn npm uv'.split(' '))
const RUNNER_SUBCOMMANDS = new Set(['run', 'exec', 'dlx', 'x', 'tool'])
/** Uninformative file and directory names. */
const GENERIC_NAMES = new Set(['index', 'main', 'server', 'cli', 'dist', 'build', 'src', 'bin', 'lib', ''])

/**
 * Derives an upstream name from a command: `server-memory` for `npx -y @scope/server-memory@1.0` or `node
 * server-memory/dist/index.js`.
 */
export function deriveCommandName([program = '', ...args]: readonly string[]): string {
  const isRunner = RUNNERS.has(basename(program, extname(program)))
  const nameSource = isRunner ? args.find(arg => !arg.startsWith('-') && !RUNNER_SUBCOMMANDS.has(arg)) : program
  const steps = (nameSource ?? program)
    .replace(/(?<=.)@[^/\\]*$/, '')
    .split(/[/\\]/)
    .map(step => toKey(step.replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/, '')))
    .reverse()
  return steps.find(step => !GENERIC_NAMES.has(step)) ?? steps.find(step => step !== '') ?? 'server'
}

/** Derives an upstream name from a package, image or registry name, without common prefixes and suffixes. */
export function derivePackageName(text: string): string {
  const name = toKey((text.split('/').at(-1) ?? text).replace(/[@:].*$/s, ''))
  return name.replace(/^(mcp-server|server|mcp)-(?=[a-z])|-(mcp-server|mcp|server)$/g, '') || 'server'
}

/** Converts a client's server name to an upstream name: lower case, digits and hyphens. */
export function toUpstreamName(name: string): string {
  return toKey(name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-')) || 'server'
}

function toKey(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 28)
    .replace(/-+$/, '')
}
