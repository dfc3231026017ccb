// Writes everything that follows from base.json and the schemas of the plugins; with --check, only says what is stale; with
// --validator, writes only what is not committed.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { keyTable } from './generate/keys.mjs'
import { keyReference } from './generate/reference.mjs'
import { types } from './generate/types.mjs'
import { validator } from './generate/validator.mjs'
import { wholeSchema } from './generate/whole.mjs'
import { writePage } from '../scripts/page.ts'

const root = new URL('../', import.meta.url)
const schema = await wholeSchema(root)

const outputs = {
  'src/config/config.gen.ts': () => types(schema),
  'src/config/keys.gen.ts': () => keyTable(schema),
  'docs/reference/config.md': () => keyReference(schema),
}

const validatorFile = new URL('src/config/generated/validator.gen.ts', root)
if (!process.argv.includes('--check')) {
  await mkdir(new URL('./', validatorFile), { recursive: true })
  await writeFile(validatorFile, validator(schema))
  await writePage()
  await writeFile(new URL('schemas/gateway.json', root), `${JSON.stringify(schema, null, 2)}\n`)
}
if (process.argv.includes('--validator')) process.exit()

const stale = []
for (const [file, make] of Object.entries(outputs)) {
  const text = await make()
  const present = await readFile(new URL(file, root), 'utf8').catch(() => undefined)
  if (present !== text) stale.push([file, text])
}

if (process.argv.includes('--check')) {
  for (const [file] of stale) console.error(`${file} is stale – run npm run gen`)
  if (stale.length > 0) process.exitCode = 1
} else {
  for (const [file, text] of stale) await writeFile(new URL(file, root), text)
  console.log(stale.length === 0 ? 'everything is fresh' : `wrote ${stale.map(([file]) => file).join(', ')}`)
}
