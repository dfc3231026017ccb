// Writes the man pages of the commands into dist/man; scripts/pack.ts names them in the package.json that is published.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { COMMANDS } from '../src/cli/commands.ts'
import { manPages } from './man-pages.ts'

const FOLDER = new URL('../dist/man/', import.meta.url)

const { version, description, oclif } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as {
  version: string
  description: string
  oclif: { topics: Record<string, { description: string }> }
}
const topics = Object.fromEntries(Object.entries(oclif.topics).map(([name, one]) => [name, one.description]))

rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
for (const [file, text] of manPages(COMMANDS, { version, description, topics }))
  writeFileSync(new URL(file, FOLDER), text)
