// Writes everything that is generated from base.json and the schemas of the plugins, and that git ignores.
import { mkdir, writeFile } from 'node:fs/promises'
import { keyTable } from './generate/keys.mjs'
import { types } from './generate/types.mjs'
import { validator } from './generate/validator.mjs'
import { wholeSchema } from './generate/whole.mjs'
import { writePage } from '../scripts/page.ts'

const root = new URL('../', import.meta.url)
const schema = await wholeSchema(root)

await mkdir(new URL('src/config/generated/', root), { recursive: true })
await writeFile(new URL('src/config/generated/validator.gen.ts', root), validator(schema))
await writeFile(new URL('src/config/config.gen.ts', root), await types(schema))
await writeFile(new URL('src/config/keys.gen.ts', root), await keyTable(schema))
await writeFile(new URL('schemas/gateway.json', root), `${JSON.stringify(schema, null, 2)}\n`)
await writePage()
