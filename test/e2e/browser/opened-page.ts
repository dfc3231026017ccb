import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import AxeBuilder from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { cleanup } from '../../fixtures/cleanup.ts'

const PROGRAM = '/usr/bin/chromium'
const isThere = existsSync(PROGRAM)

/** Why tests in a browser are left out: on a machine of somebody's own only. */
export const skip =
  isThere || process.env.CI !== undefined ? false : `${PROGRAM} is not installed; apt-get install chromium brings it`

/** Real Chromium, without a screen. */
export async function startChromium(t: TestContext): Promise<Browser> {
  if (!isThere) throw new Error(`${PROGRAM} is not installed`)
  // As root it has no sandbox of its own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath: PROGRAM, args })
  cleanup(t, () => browser.close())
  return browser
}

/** A page in a browser of its own, with all that it asked for and said. */
export interface OpenedPage {
  readonly page: Page
  readonly requests: string[]
  readonly problems: string[]
}

interface View {
  readonly width?: number
  readonly dark?: boolean
}

export async function openPage(t: TestContext, link: string): Promise<OpenedPage> {
  return openIn(await startChromium(t), link)
}

export async function openIn(
  browser: Browser,
  link: string,
  { width = 1440, dark = false }: View = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    viewport: { width, height: HEIGHT },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  const requests: string[] = []
  const problems: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  await page.goto(link)
  await page.locator('h1').waitFor()
  return { page, requests, problems }
}

const THEMES = ['light', 'dark'] as const
const HEIGHT = 900
export const WIDTHS = [1440, 1024, 390] as const

/** Looks at a page in both themes and at both widths: it is accessible, and no wider than its screen. It is light and wide after that. */
export async function assertEveryView(page: Page): Promise<void> {
  for (const colorScheme of THEMES)
    for (const width of WIDTHS) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: HEIGHT })
      await assertView(page, `${colorScheme} ${width}`)
    }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: WIDTHS[0], height: HEIGHT })
}

/** The page as it stands is accessible, and no wider than its screen. With `SCREENSHOTS=folder` it is kept for who wants to see it. */
export async function assertView(page: Page, where: string): Promise<void> {
  const { SCREENSHOTS: folder } = process.env
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${await page.title()} ${where}.png`) })
  assert.deepEqual(await violations(page), [], where)
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(wide <= 0, `${where} is ${wide} pixels too wide`)
  const cut = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)",
  )
  assert.deepEqual(cut, [], `${where}: columns are cut`)
  const rows = await page.evaluate<number>(
    "new Set([...document.querySelectorAll('nav li')].map(one => one.offsetTop)).size",
  )
  const isColumn = await page.evaluate<boolean>('innerWidth > 1120')
  assert.ok(isColumn || rows <= 1, `${where}: the navigation has ${rows} rows`)
}

/** Rules of axe that do not hold, with where. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AxeBuilder.source)
  const found = await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: typeof AxeBuilder }).axe
    const { violations: list } = await axe.run()
    return list.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
  })
  return found
}
