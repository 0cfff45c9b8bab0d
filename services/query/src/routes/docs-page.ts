/**
 * The page, with links that are relative, so that it works wherever it is served.
 * @param path of the request: with a slash behind `docs` the browser takes links from one folder deeper
 */
export function docsPage(path: string): string {
  const here = path.endsWith('/') ? '../' : '';
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Meridian API</title>
  <link rel="icon" href="data:,">
  <link rel="service-desc" type="application/json" href="${here}openapi.json">
  <link rel="stylesheet" href="${here}docs/swagger-ui.css">
</head>
<body>
  <main id="api"><noscript>This page needs JavaScript. The same as a file: <a href="${here}openapi.json">openapi.json</a></noscript></main>
  <script src="${here}docs/swagger-ui-bundle.js"></script>
  <script src="${here}docs/page.js"></script>
</body>
</html>
`;
}

/** Run by the page. Credentials that are typed in live as long as the page. */
export const docsScript = `SwaggerUIBundle({
  url: document.querySelector('link[rel=service-desc]').href,
  dom_id: '#api',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
});
`;
