import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { exampleGateway } from './example.ts'
import { PICTURES } from './pictures.ts'
import { assertView, openIn, skip, startChromium } from './opened-page.ts'

const WIDTH = 1180
const HEIGHT = 600

test('every picture of the documents can be taken from the page as it is', { skip }, async t => {
  const link = await exampleGateway(t)
  const browser = await startChromium(t)
  // Where they are kept; without it they are only looked for.
  const { PICTURES: folder } = process.env
  for (const { file, hash, shows, isDark = false, width = WIDTH, height = HEIGHT } of PICTURES) {
    const { page, problems } = await openIn(browser, await link(), { width, dark: isDark })
    await page.setViewportSize({ width, height })
    await page.evaluate(`location.hash = '#/${hash}'`)
    await shows(page)
    await assertView(page, file)
    assert.deepEqual(problems, [], file)
    await page.evaluate('document.activeElement?.blur()')
    if (folder !== undefined) await page.screenshot({ path: join(folder, file) })
    await page.context().close()
  }
})
