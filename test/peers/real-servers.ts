import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The published servers that `gateway.yaml` examples use, and a directory they may work in. */
export interface RealServers {
  /** A file the filesystem server serves; its text is `hello from a file`. */
  readonly file: string
  /** The `upstreams` section of a gateway.yaml: three legacy servers and one that is modern only. */
  readonly upstreams: Record<string, object>
  remove(): Promise<void>
}

/** Prepares the servers' directory; it is the caller's to remove. */
export async function prepareRealServers(): Promise<RealServers> {
  const directory = await mkdtemp(join(tmpdir(), 'servers-'))
  const file = join(directory, 'hello.txt')
  await writeFile(file, 'hello from a file')
  const memory = { MEMORY_FILE_PATH: join(directory, 'memory.jsonl') }
  return {
    file,
    upstreams: {
      everything: program(entryOf('@modelcontextprotocol/server-everything')),
      files: program(entryOf('@modelcontextprotocol/server-filesystem'), directory),
      memory: { ...program(entryOf('@modelcontextprotocol/server-memory')), env: memory },
      modern: program(fileURLToPath(new URL('../fixtures/servers/sdk-v2-server.ts', import.meta.url))),
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

function program(...args: string[]): object {
  return { type: 'stdio', command: process.execPath, args }
}

function entryOf(name: string): string {
  const manifest = findPackageJSON(name, import.meta.url)
  if (!manifest) throw new Error(`${name} is not installed: run "npm install"`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> }
  const [entry] = Object.values(bin)
  if (!entry) throw new Error(`${name} has no program`)
  return join(dirname(manifest), entry)
}
