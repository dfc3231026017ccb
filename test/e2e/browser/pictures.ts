import type { Page } from 'playwright-core'

/** A picture of the page that documents show. */
export interface Picture {
  /** Name of the file in docs/images. */
  readonly file: string
  /** Title of its page, as the table in docs/dashboard.md has it. */
  readonly title: string
  /** Place in the page. */
  readonly hash: string
  /** Does what somebody does who wants to see this, and waits for it. */
  readonly shows: (page: Page) => Promise<void>
  readonly isDark?: true
  readonly width?: number
  readonly height?: number
}

/** Rows of the list of this name, each with one of the texts. */
const rows =
  (label: string, ...texts: readonly string[]) =>
  async (page: Page): Promise<void> => {
    const list = page.getByLabel(label, { exact: true }).locator('tbody tr')
    for (const hasText of texts) await list.filter({ hasText }).first().waitFor()
  }

/** What is opened by a link in a list. */
const opened =
  (name: string, ...texts: readonly string[]) =>
  async (page: Page): Promise<void> => {
    await page.getByRole('link', { name, exact: true }).first().click()
    for (const text of texts) await page.locator('.detail').getByText(text).first().waitFor()
  }

/** All of them: each page has one, and some what is opened on it. `npm run gen -- --pictures` takes them. */
export const PICTURES: readonly Picture[] = [
  {
    ...{ file: 'ui-overview.png', title: 'Overview', hash: 'overview' },
    height: 720,
    shows: rows('Servers', 'archive', 'tickets', 'memory'),
  },
  {
    ...{ file: 'ui-phone.png', title: 'Overview', hash: 'overview' },
    ...{ isDark: true, width: 390, height: 844 },
    shows: rows('Servers', 'archive', 'tickets', 'memory'),
  },
  {
    ...{ file: 'ui-server.png', title: 'Server', hash: 'server?name=tickets' },
    height: 1050,
    shows: rows('Tools', 'tickets__create', 'tickets__export'),
  },
  {
    ...{ file: 'ui-calls.png', title: 'Calls', hash: 'calls' },
    shows: rows('Calls', 'web__search', 'tickets__create', 'is error', 'refused'),
  },
  {
    ...{ file: 'ui-call.png', title: 'Calls', hash: 'calls?tool=tickets__find' },
    height: 720,
    shows: opened('tickets__find', 'server', 'Result'),
  },
  {
    ...{ file: 'ui-tools.png', title: 'Tools', hash: 'tools' },
    shows: rows('Tools', 'web__search', 'tickets__create'),
  },
  {
    ...{ file: 'ui-tool.png', title: 'Tools', hash: 'tools?search=ticket' },
    height: 1050,
    shows: opened('tickets__create', 'Visibility', 'Try it'),
  },
  {
    ...{ file: 'ui-clients.png', title: 'Clients', hash: 'clients' },
    shows: rows('Clients', 'Claude Code', 'Cursor', 'legacy'),
  },
  {
    ...{ file: 'ui-approvals.png', title: 'Approvals', hash: 'approvals' },
    shows: async page => page.getByText('wants to call it').waitFor(),
  },
  {
    ...{ file: 'ui-logins.png', title: 'Logins', hash: 'logins' },
    shows: rows('Logins', 'alice', 'files'),
  },
  {
    ...{ file: 'ui-task.png', title: 'Tasks and agents', hash: 'agents' },
    height: 1050,
    async shows(page) {
      await rows('Running calls', 'tickets__export')(page)
      await page.getByLabel('Tasks', { exact: true }).getByRole('link').first().click()
      await page.locator('.asked', { hasText: 'Which branch?' }).waitFor()
    },
  },
  {
    ...{ file: 'ui-cache.png', title: 'Cache', hash: 'cache' },
    shows: rows('Entries', 'web', 'tickets'),
  },
  {
    ...{ file: 'ui-config.png', title: 'Configuration', hash: 'config?search=policy' },
    async shows(page) {
      await rows('Values', 'closes tickets')(page)
    },
  },
  {
    ...{ file: 'ui-connect.png', title: 'Connect', hash: 'connect?client=cursor' },
    shows: async page => page.getByText('gateway connect cursor').waitFor(),
  },
]
