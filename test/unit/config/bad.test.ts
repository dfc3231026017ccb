import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { linesOf } from './temp.ts'

const FOLDER = new URL('../../bad-config/', import.meta.url)
const UPDATE = process.env.UPDATE_CASES === '1'

// Each case is a gateway.yaml, a line of dashes, and what people are told about it.
for (const name of readdirSync(FOLDER).sort()) {
  test(`a bad config is explained: ${name.replace('.txt', '').replaceAll('-', ' ')}`, async t => {
    const file = new URL(name, FOLDER)
    const [yaml = '', expected = ''] = readFileSync(file, 'utf8').split(/^-{10,}\n/m)
    const environment = { TOKEN: 'abcd-1234', PORT: '8080', EMPTY: '' }

    const lines = await linesOf(t, { 'gateway.yaml': yaml }, { environment })

    if (UPDATE) (await import('node:fs')).writeFileSync(file, `${yaml}----------\n${lines.join('\n')}\n`)
    else assert.equal(lines.join('\n'), expected.trimEnd())
  })
}
