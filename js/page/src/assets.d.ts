// Files that the build reads as text.
declare module "*.csv" {
  const text: string;
  export default text;
}
