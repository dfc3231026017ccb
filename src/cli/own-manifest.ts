import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Interfaces } from '@oclif/core'

interface OwnManifest {
  readonly root: string
  readonly manifest: Interfaces.PJSON
}

/** Our own package.json, seen from one of our files; the command table is the one beside that file, compiled or not. */
export function ownManifest(from: string): OwnManifest {
  const file = fileURLToPath(from)
  const root = rootOf(dirname(file))
  const read = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Interfaces.PJSON
  const target = relative(root, join(dirname(file), `commands${extname(file)}`))
  const commands = { strategy: 'explicit', target, identifier: 'COMMANDS' } as const
  return { root, manifest: { ...read, oclif: { ...read.oclif, commands } } }
}

function rootOf(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootOf(dirname(directory))
}
