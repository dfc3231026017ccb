// Writes everything that is generated from base.json and the schemas of the plugins. With --check, reports stale committed
// files; with --uncommitted, writes only what is not committed.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { keyTable } from './generate/keys.mjs'
import { keyReference } from './generate/reference.mjs'
import { types } from './generate/types.mjs'
import { validator } from './generate/validator.mjs'
import { wholeSchema } from './generate/whole.mjs'
import { writePage } from '../scripts/page.ts'

const root = new URL('../', import.meta.url)
const schema = await wholeSchema(root)

const reference = new URL('docs/reference/config.md', root)

if (process.argv.includes('--check')) {
  if (await isStale()) {
    console.error('docs/reference/config.md is stale – run npm run gen')
    process.exitCode = 1
  }
} else {
  await writeUncommitted()
  if (!process.argv.includes('--uncommitted') && (await isStale())) {
    await writeFile(reference, keyReference(schema))
    console.log('wrote docs/reference/config.md')
  }
}

async function isStale() {
  const present = await readFile(reference, 'utf8').catch(() => undefined)
  return present !== keyReference(schema)
}

/** Writes what the build makes and git ignores. */
async function writeUncommitted() {
  await mkdir(new URL('src/config/generated/', root), { recursive: true })
  await writeFile(new URL('src/config/generated/validator.gen.ts', root), validator(schema))
  await writeFile(new URL('src/config/config.gen.ts', root), await types(schema))
  await writeFile(new URL('src/config/keys.gen.ts', root), await keyTable(schema))
  await writeFile(new URL('schemas/gateway.json', root), `${JSON.stringify(schema, null, 2)}\n`)
  await writePage()
}
