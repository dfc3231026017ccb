import type { ListingReader, Plugin } from 'tapgate/plugin'

// #region listing
/** Shows one client no tool name that is longer than it can read. */
export const shortNames: Plugin<{ client: string; longest: number }> = {
  name: 'short-names',
  setup({ options: { client, longest }, hooks }) {
    const readers = (reader: ListingReader) => (reader.client.name === client ? 'short' : '')
    hooks.listing.tap({ readers }, (shown, reader) => {
      if (reader.kind !== 'tools' || readers(reader) === '') return undefined
      return shown.map(entry =>
        entry.exposed.length <= longest ? entry : { ...entry, exposed: entry.exposed.slice(0, longest) },
      )
    })
  },
}
// #endregion listing
